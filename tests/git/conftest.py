"""What all tests of git share: every argument list is heard, and the user's repository is watched."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.git import run

Untouched = Callable[..., "contextlib.AbstractContextManager[None]"]


@pytest.fixture(autouse=True)
def heard() -> Iterator[list[list[str]]]:
    """The argument lists of all our git processes. None may stage by sweeping (CCC-33)."""
    commands: list[list[str]] = []

    def hear(command: Sequence[str]) -> None:
        commands.append(list(command))

    run.listeners.append(hear)
    yield commands
    run.listeners.remove(hear)
    for command in commands:
        verb = run.verb(command[1:])
        assert verb not in ("add", "stage", "stash", "reset", "checkout", "switch", "clean"), (
            command
        )
        assert not {"-A", "--all", "-u", "--update", "-a", "."} & set(words(command)), command


def words(command: Sequence[str]) -> list[str]:
    """The words of a command, without the one `-u` that is no sweep: `read-tree -m -u`."""
    return [word for word in command if not (word == "-u" and "read-tree" in command)]


def answer(root: Path | str, *arguments: str) -> bytes:
    """What git says in bytes, without refreshing the index."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=root, check=True, capture_output=True, env=environment
    ).stdout


def user_state(root: Path) -> dict[str, Any]:
    """All of the repository that is the user's, to the byte."""
    git_dir = Path(os.fsdecode(answer(root, "rev-parse", "--absolute-git-dir")).strip())
    common = Path(
        os.fsdecode(answer(root, "rev-parse", "--path-format=absolute", "--git-common-dir")).strip()
    )
    refs = answer(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    index = git_dir / "index"
    return {
        "index": index.read_bytes() if index.exists() else None,
        "index time": index.stat().st_mtime_ns if index.exists() else None,
        "entries": answer(root, "ls-files", "--stage", "--debug") if index.exists() else None,
        "HEAD": (git_dir / "HEAD").read_bytes(),
        "refs": [ref for ref in refs if not ref.startswith(b"refs/holdfast/")],
        "reflogs": {
            str(path): path.read_bytes()
            for folder in {git_dir / "logs", common / "logs"}
            for path in folder.rglob("*")
            if path.is_file()
        },
        "config": (common / "config").read_bytes(),
        "own files": sorted(
            name for name in os.listdir(git_dir) if name not in ("holdfast", "index.lock")
        ),
        "status": answer(root, "status", "--porcelain", "-z", "--untracked-files=all"),
    }


def contents(root: Path) -> dict[bytes, tuple[str, bytes]]:
    """Every file of the work tree: kind and contents, by its name in bytes."""
    found: dict[bytes, tuple[str, bytes]] = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        if b".git" in folders:
            folders.remove(b".git")
        for name in [*files, *(name for name in folders if os.path.islink(folder + b"/" + name))]:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, top)
            if os.path.islink(path):
                found[key] = ("link", os.readlink(path))
            elif os.path.isfile(path) and os.access(path, os.R_OK):
                kind = "program" if os.access(path, os.X_OK) else "file"
                with open(path, "rb") as file:
                    found[key] = (kind, hashlib.sha256(file.read()).digest())
    return found


@pytest.fixture
def untouched() -> Untouched:
    """`with untouched(root):` nothing of the user's changes, nor a file of the work tree."""

    @contextlib.contextmanager
    def watch(root: Path, *, files: bool = True) -> Iterator[None]:
        before, tree = user_state(root), contents(root)
        yield
        after = user_state(root)
        if not files:
            before.pop("status"), after.pop("status")
        for name, value in before.items():
            assert after[name] == value, name
        if files:
            assert contents(root) == tree

    return watch


def tree_of(root: Path, commit: str) -> dict[str, str]:
    """Mode and object of every path in a commit."""
    listing = os.fsdecode(answer(root, "ls-tree", "-r", "-z", "--full-tree", commit))
    pairs = (entry.partition("\t") for entry in listing.split("\0") if entry)
    return {path: facts for facts, _, path in pairs}


def text_of(root: Path, commit: str, path: str) -> bytes:
    """The contents of a path in a commit."""
    return answer(root, "cat-file", "blob", f"{commit}:{path}")


def merge(root: Path, branch: str) -> None:
    """A merge that ends in a conflict."""
    identity = ["-c", "user.name=holdfast tests", "-c", "user.email=tests@holdfast.invalid"]
    done = subprocess.run(["git", *identity, "merge", branch], cwd=root, capture_output=True)
    assert b"CONFLICT" in done.stdout
