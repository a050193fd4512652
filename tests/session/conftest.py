"""A project to capture sessions in, the command line, and everybody that a checkpoint talks to."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest

from holdfast.git import run
from holdfast.kernel import crash
from tests.conftest import Git
from tests.session import world
from tests.trees import copy_tree

holdfast = world.holdfast
linear_server, linear = world.linear_server, world.linear

Calls = list[list[str]]
Break = Callable[[], None]
BROAD = (".", "-A", "--all", "-u", "--update", "-a", ":/")


@pytest.fixture(autouse=True)
def calls() -> Iterator[Calls]:
    """The argument list of every git process of holdfast's; none may ever stage everything."""
    made: Calls = []

    def listen(command: Sequence[str]) -> None:
        made.append([*command])

    run.listeners.append(listen)
    yield made
    run.listeners.remove(listen)
    for command in made:
        if "add" in command or "commit" in command:
            assert not set(BROAD).intersection(command), command


@pytest.fixture(scope="session")
def second_commit(first_commit: Path, git: Git) -> Path:
    """The repository of `project`, to be copied."""
    root = first_commit.with_name("project")
    copy_tree(first_commit, root)
    git("config", "user.name", "a developer", at=root)
    git("config", "user.email", "developer@holdfast.invalid", at=root)
    for name in ("a.py", "b.py", "name with spaces.py"):
        (root / name).write_text("one\n")
    git("add", "a.py", "b.py", "name with spaces.py", at=root)
    git("commit", "--quiet", "--message", "files", at=root)
    return root


@pytest.fixture
def project(repository: Path, second_commit: Path) -> Path:
    """A repository with somebody's name and three tracked files, `a.py`, `b.py`, `name with spaces.py`."""
    copy_tree(second_commit, repository)
    return repository


@pytest.fixture
def blocked_view(project: Path) -> Iterator[Break]:
    """From now on `.ccc-progress.md` can be read but no longer be written: its folder became read-only at the
    last moment."""
    taken_back: list[Callable[[], object]] = []

    def refuse() -> None:
        block()
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def block() -> None:
        taken_back.append(crash.register("before placing", refuse))

    yield block
    for take_back in taken_back:
        take_back()


@pytest.fixture
def no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Break:
    """From now on there is no `git` on the PATH."""

    def remove() -> None:
        empty = tmp_path / "empty"
        empty.mkdir()
        monkeypatch.setenv("PATH", str(empty))

    return remove


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """`terminal("a.py")`: somebody sits at a terminal and gives these answers; what they were asked."""

    def sit_down(*answers: str) -> list[str]:
        asked: list[str] = []
        waiting = list(answers)

        def answer(question: str, **_: object) -> str:
            asked.append(question)
            return waiting.pop(0)

        for stream in (sys.stdin, sys.stdout):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(click, "prompt", answer)
        return asked

    return sit_down
