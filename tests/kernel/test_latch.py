"""The latch: a stop that holds without the database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from holdfast.testing.journal.examples import NOON, at
from tests.conftest import Git


@pytest.mark.usefixtures("repository")
def test_a_latch_holds_until_it_is_released() -> None:
    here = discover()
    assert latch.read(here) is None

    latch.engage(here, "The budget is spent.", by="Ada", now=NOON)

    assert latch.read(here) == {"reason": "The budget is spent.", "by": "Ada", "at": at(0)}
    assert latch.release(here)
    assert latch.read(here) is None
    assert not latch.release(here)


@pytest.mark.usefixtures("repository")
def test_a_latch_needs_no_journal() -> None:
    here = discover()

    latch.engage(here, "Stop.", by="Ada", now=NOON)

    assert not here.exists()


def test_a_latch_stops_every_worktree(repository: Path, git: Git, tmp_path: Path) -> None:
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "second"), at=repository)
    second = discover(str(tmp_path / "second"))

    latch.engage(discover(str(repository)), "Stop.", by="Ada", now=NOON)

    assert latch.read(second) is not None
    assert latch.release(second)
    assert latch.read(discover(str(repository))) is None


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"7", b'{"reason":1}', b"\xff\xfe", b"[" * 70_000]
)
def test_a_damaged_latch_still_holds(damage: bytes) -> None:
    here = discover()
    latch.engage(here, "Stop.", by="Ada", now=NOON)
    Path(latch.places(here)[0]).write_bytes(damage)

    held = latch.read(here)

    assert held is not None
    assert ("damaged" if damage else latch.WITHOUT_REASON) in held["reason"]
    assert latch.release(here)


@pytest.mark.usefixtures("repository")
def test_a_latch_that_cannot_be_read_still_holds() -> None:
    here = discover()
    os.makedirs(latch.places(here)[0])

    held = latch.read(here)

    assert held is not None
    assert "cannot be read" in held["reason"]


IN_A_SANDBOX = """
import encodings.ascii  # the interpreter may live where the other user cannot read
import os, sys
from holdfast.kernel import latch, private_folder, tree_file
from holdfast.kernel.workspace import discover
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
os.chdir(sys.argv[1])
latch.engage(discover(), "Stop.", by="sandboxed", now=0)
"""


def test_where_the_home_cannot_be_written_the_worktree_is_stopped(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "second"), at=repository)
    open_to_nobody(repository, tmp_path)
    (repository / ".git").chmod(0o555)

    subprocess.run([sys.executable, "-c", IN_A_SANDBOX, str(repository)], check=True)

    (repository / ".git").chmod(0o755)
    here = discover(str(repository))
    everywhere, only_here = latch.places(here)
    assert not os.path.exists(everywhere)
    assert os.path.exists(only_here)
    assert latch.read(here) is None or os.getuid(), "another user's does not count"
    # A sandbox keeps the user. This one had to be another to have no right to write.
    os.chown(only_here, os.getuid(), os.getgid())
    held = latch.read(here)
    assert held is not None
    assert (held["reason"], held["by"]) == ("Stop.", "sandboxed")
    assert latch.read(discover(str(tmp_path / "second"))) is None
    assert git("status", "--porcelain", at=repository) == "", "its folder ignores itself"


def open_to_nobody(repository: Path, tmp_path: Path) -> None:
    """Let user 65534 reach and write the repository; pytest's own folders are for us alone."""
    repository.chmod(0o777)
    if os.getuid() == 0:
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_mode & 0o005 != 0o005:
                folder.chmod(folder.stat().st_mode | 0o055)
