"""A pipe, a folder, a dangling link or an endless device in the place of a file, and a bound on time."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Holdfast

# Of this process and of what it started, without the start of an interpreter. A machine that does
# other work too makes it wait longer; a read that waits takes for ever.
CPU_SECONDS = 1.0
SECONDS = 10.0

BAD: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "dangling link": lambda path: path.symlink_to("/nowhere/at/all"),
    "link to an endless device": lambda path: path.symlink_to("/dev/zero"),
}
# A link to nothing is a missing file.
UNREADABLE = [kind for kind in BAD if kind != "dangling link"]


@pytest.fixture(params=list(BAD))
def spoil(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Replace a file or a folder by one of the bad ones."""

    def put(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        BAD[request.param](path)

    return put


@contextmanager
def in_under_a_second(*what: object) -> Iterator[None]:
    """What is done here has to take less than a second of work, and must not wait."""
    started, worked = time.monotonic(), _worked()
    yield
    assert _worked() - worked < CPU_SECONDS, what
    assert time.monotonic() - started < SECONDS, what


@pytest.fixture
def quick(holdfast: Holdfast) -> Holdfast:
    """The command line; each command has to end soon, and without a bug."""

    def call(*words: str) -> Answer:
        with in_under_a_second(*words):
            answer = holdfast(*words)
        assert answer.code != 70, answer.err
        return answer

    return call


def _worked() -> float:
    """The processor time of this process and of its children."""
    times = os.times()
    return sum(times[:4])
