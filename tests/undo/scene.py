"""A work tree with one of everything, prompts in it, and a picture of it to compare."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holdfast.kernel import clock
from holdfast.kernel.workspace import Workspace, discover
from holdfast.undo import hooks
from tests.conftest import Git

Picture = dict[str, tuple[int, bytes]]


def picture_of(root: Path) -> Picture:
    """Return each file, link and folder with its mode and content; git's own folder is left out."""
    found: Picture = {}
    for path, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not (name == ".git" and path == str(root))]
        for name in [*folders, *files]:
            whole = os.path.join(path, name)
            mode = os.lstat(whole).st_mode
            content = b""
            if stat.S_ISLNK(mode):
                content = os.fsencode(os.readlink(whole))
            elif stat.S_ISREG(mode):
                content = Path(whole).read_bytes()
            elif stat.S_ISDIR(mode):
                mode = stat.S_IFDIR  # git has no modes of folders, and neither have we
            found[os.path.relpath(whole, root)] = (mode, content)
    return found


class Prompts:
    """Prompts of sessions in the current folder, as the hooks see them."""

    def __init__(self) -> None:
        self.now = clock.now() - 600_000

    @property
    def workspace(self) -> Workspace:
        return discover()

    def begin(self, text: str = "Do it", *, session: str = "s1", client: str = "claude") -> None:
        self.now += 1000
        hooks.begin(self.workspace, client, session, text, self.now)

    def end(self, *, session: str = "s1", client: str = "claude", means: str = "stop") -> None:
        self.now += 1000
        hooks.end(self.workspace, client, session, means, self.now)


@pytest.fixture
def prompts(rich: Path) -> Prompts:
    return Prompts()


@pytest.fixture
def rich(repository: Path, git: Git) -> Path:
    """A repository with tracked, untracked and ignored files, modes, links and empty folders."""
    for name in ("one.py", "two.py", "three.py", "sub/four.py", "sub/deep/five.py"):
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"line {number}\n" for number in range(20)))
    (repository / "run.sh").write_text("#!/bin/sh\n")
    (repository / "run.sh").chmod(0o755)
    (repository / "private.py").write_text("mode 600\n")
    (repository / "private.py").chmod(0o600)
    (repository / "link").symlink_to("one.py")
    (repository / ".gitignore").write_text("*.log\nbuild/\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    (repository / "notes.txt").write_text("what only I know\n")
    (repository / "empty" / "inner").mkdir(parents=True)
    (repository / "sub" / "empty").mkdir()
    (repository / "debug.log").write_text("ignored\n")
    return repository


def bad_idea(root: Path, git: Git) -> None:
    """What an agent does by shell and by its tools: a formatter, a deletion, edits, modes, a commit."""
    for name in ("one.py", "two.py", "three.py", "sub/four.py"):
        path = root / name
        path.write_text(path.read_text().replace("line 7\n", "line seven\n") + "more\n")
    (root / "sub/deep/five.py").unlink()
    (root / "sub/deep").rmdir()
    (root / "notes.txt").unlink()
    (root / "empty/inner").rmdir()
    (root / "empty").rmdir()
    (root / "link").unlink()
    (root / "link").write_text("no link any more\n")
    (root / "run.sh").chmod(0o644)
    (root / "private.py").chmod(0o644)
    (root / "new").mkdir()
    (root / "new/file.bin").write_bytes(bytes(range(256)))
    (root / "left empty").mkdir()
    git("add", "--all")
    git("commit", "--quiet", "--message", "agent's commit")
    (root / "two.py").write_text("staged no more\n")
