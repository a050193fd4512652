"""A git repository with a writer, and the questions that tests ask of it."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.journal.chain import verify
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.commit import REPAIR, Order, commit
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace, discover
from holdfast.kernel.writer import Writer
from holdfast.note.rules import note
from tests import warm
from tests.trees import copy_tree

if TYPE_CHECKING:
    from holdfast.journal.interface import Record
    from holdfast.kernel.commit import Outcome

STREAM = "note:default"
VIEW = ".notes/default.md"
# Root may write anywhere, so what must not be written is tried by somebody who is not root.
NOBODY = 65534
IS_ROOT = os.geteuid() == 0

# The interpreter may be in a folder that nobody else can enter, so all that a child may need from
# there is loaded first.
BECOME_NOBODY = f"""
import ctypes, difflib, errno, fcntl, json, os, pathlib, re, resource, subprocess, sys, tomllib
import holdfast.kernel.filesystem, holdfast.journal.migrate, holdfast.kernel.lock
import holdfast.kernel.commit, holdfast.kernel.digest, holdfast.kernel.writer
import holdfast.journal.sqlite, holdfast.note.rules.note, holdfast.registry
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""

# What every child begins with: `workspace`, `writer`, and `note(text)`.
CHILD = """
import os, signal, sys
from holdfast.kernel import clock, crash
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.kernel.streams import open_writer

workspace = discover(sys.argv[1])
writer = open_writer(workspace)

def note(text, **options):
    command = {"add": text, "by": "child"}
    return writer.execute("note:default", command, actor="child", now=clock.now(), **options)

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Scene:
    """One worktree; `close` lets go of its journal."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.view = root / VIEW
        self.tools = root / ".holdfast"
        self.workspace: Workspace = discover(str(root))
        self._writer: Writer | None = None

    @property
    def writer(self) -> Writer:
        if self._writer is None:
            self._writer = open_writer(self.workspace)
        return self._writer

    def close(self) -> None:
        """As if this process ended: the next command has a new writer."""
        self.workspace.close()
        self._writer = None

    # Doing

    def note(self, text: str, **options: Any) -> Outcome:
        command = {"add": text, "by": "tester"}
        return self.writer.execute(STREAM, command, actor="tester", now=clock.now(), **options)

    def repair(self, *, raise_removed: bool = False) -> Outcome:
        order = Order(STREAM, REPAIR, raise_removed=raise_removed)
        return commit(self.writer, [order], actor="holdfast", now=clock.now())[0]

    def git(self, *arguments: str) -> str:
        return run_git(self.root, *arguments)

    def child(
        self,
        code: str,
        *arguments: str,
        as_nobody: bool = False,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run code after CHILD in a process of its own."""
        return warm.run(
            child_command(self.root, code, *arguments, as_nobody=as_nobody),
            capture_output=True,
            text=True,
            timeout=timeout,
            env=clean_environment(),
        )

    # Asking

    def text(self) -> str:
        return self.view.read_text(encoding="utf-8")

    def records(self, kind: str = "") -> list[Record]:
        found: list[Record] = []
        while batch := self.workspace.journal.since(found[-1]["seq"] if found else 0):
            found += batch
        return [record for record in found if not kind or record["kind"] == kind]

    def kinds(self) -> list[str]:
        return [record["kind"] for record in self.records()]

    def state(self) -> Any:
        return load(self.workspace.journal, note, STREAM)[0]

    def texts(self) -> list[str]:
        return [entry["text"] for entry in self.state()["entries"]]

    def rendered(self) -> str:
        return note.render(self.state())[VIEW]

    def bodies(self) -> str:
        return "\n".join(canonical_json.dumps(record["body"]) for record in self.records())

    def asides(self) -> list[Path]:
        """The other files of the view: staged beside it, or displaced and kept in the journal's home."""
        beside = self.view.parent.glob(f".{self.view.name}.holdfast.*")
        return sorted([*beside, *Path(self.workspace.home).glob("displaced/*/*")])

    def quarantined(self) -> list[Path]:
        return sorted(Path(self.workspace.quarantine).glob("*"))

    def problems(self) -> list[str]:
        """What is wrong with the journal itself."""
        found = self.workspace.journal.damage()
        found += [
            f"{finding['stream']}: {finding['broken']}"
            for finding in verify(self.workspace.journal)
            if finding["broken"]
        ]
        return found


def run_git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@cache
def _empty_repository() -> Path:
    """What `git init` makes, to be copied, without its samples of hooks."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run_git(folder, "init", "--quiet", ".")
    shutil.rmtree(folder / ".git" / "hooks")
    return folder


def new_repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    copy_tree(_empty_repository() / ".git", folder / ".git")
    return folder


def open_to_all() -> Path:
    """A temporary folder that another user can get to, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return folder


def give_to_nobody(folder: Path) -> None:
    """Make the owner of everything here the user of `as_nobody`."""
    if IS_ROOT:
        for parent, folders, files in os.walk(folder):
            for name in [".", *folders, *files]:
                os.chown(os.path.join(parent, name), NOBODY, NOBODY, follow_symlinks=False)


def set_writable(folder: Path, writable: bool) -> None:
    """Give or take the right to write a folder, and all in it, from its owner."""
    for place in [folder, *folder.rglob("*")]:
        if place.is_symlink():
            continue
        mode = place.stat().st_mode & 0o555
        place.chmod(mode | 0o200 if writable else mode)


def remove(folder: Path) -> None:
    if not IS_ROOT:
        set_writable(folder, True)
    shutil.rmtree(folder)


def child_command(root: Path, code: str, *arguments: str, as_nobody: bool = False) -> list[str]:
    before = BECOME_NOBODY if as_nobody and IS_ROOT else ""
    return [sys.executable, "-c", f"{before}{CHILD}\n{code}", str(root), *arguments]


def clean_environment() -> dict[str, str]:
    """No settings of whoever runs the tests, and no compiled files written at a tested instant."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")
    }
    return {**environment, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent"}
