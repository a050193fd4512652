"""Where nothing can be written: what is said, and what still works."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import warm
from tests.kernel.views.scene import (
    BECOME_NOBODY,
    IS_ROOT,
    clean_environment,
    give_to_nobody,
    new_repository,
    open_to_all,
    remove,
    set_writable,
)
from tests.rfc.world import DISCOVER

# All that the command line may load, before the interpreter's own folder is out of reach.
LOADED = """
import encodings.ascii, shlex, glob, tempfile, click, holdfast.cli.frame, holdfast.cli.parser
import holdfast.rfc.api, holdfast.rfc.summary, holdfast.rfc.lint
import holdfast.rfc.cli
import holdfast.kernel.inbox, holdfast.journal.sqlite
"""
RUN = """
import sys
from holdfast.cli.frame import run
sys.exit(run(["rfc", *sys.argv[1:]]))
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A repository that belongs to nobody when the tests run as root."""
    folder = open_to_all()
    root = new_repository(folder / "project")
    give_to_nobody(folder)
    yield root
    set_writable(folder, True)
    remove(folder)


def call(root: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    before = f"{LOADED}{BECOME_NOBODY}" if IS_ROOT else ""
    return warm.run(
        [sys.executable, "-c", f"{before}{RUN}", *words],
        cwd=root,
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean_environment(), "HOLDFAST_ACTOR": "tester"},
    )


def test_a_folder_that_cannot_be_written(shared: Path) -> None:
    set_writable(shared, False)
    done = call(shared, "init", "auth-model")
    assert done.returncode == 75, done
    assert "No permission to write: making .ohrfc/auth-model/ failed" in done.stderr
    set_writable(shared, True)
    assert call(shared, "init", "auth-model").returncode == 0


def test_the_folder_of_the_rfc_alone(shared: Path) -> None:
    """The record is safe, and the file is said not to be written."""
    assert call(shared, "init", "auth-model").returncode == 0
    folder = shared / ".ohrfc" / "auth-model"
    set_writable(folder, False)
    done = call(shared, "write", "discover", given=DISCOVER)
    assert done.returncode == 0, done
    assert "checkpoint.md was not written: Permission denied. The record is safe." in done.stderr
    set_writable(folder, True)
    read = call(shared, "show")
    assert "Speed matters more than completeness" in read.stdout
    assert call(shared, "transition", "discover-design").returncode == 0
    assert "Speed matters" in (folder / "checkpoint.md").read_text()


def test_a_reader_needs_no_right_to_write(shared: Path) -> None:
    assert call(shared, "init", "auth-model").returncode == 0
    assert call(shared, "write", "discover", given=DISCOVER).returncode == 0
    set_writable(shared, False)
    for words in (("bootstrap",), ("list",), ("show",), ("prompt", "design")):
        done = call(shared, *words)
        assert done.returncode == 0, done
    queued = call(shared, "write", "discover", given=DISCOVER)
    assert queued.returncode == 75, queued
    assert os.path.exists(shared / ".ohrfc/auth-model/checkpoint.md")


def test_a_sandbox_that_closes_the_git_dir(shared: Path) -> None:
    """The command waits in the inbox, and whoever can write takes it in."""
    assert call(shared, "init", "auth-model").returncode == 0
    set_writable(shared / ".git", False)
    done = call(shared, "write", "discover", given=DISCOVER)
    assert done.returncode == 0, done
    assert "Queued in .holdfast/inbox" in done.stdout
    assert not (shared / ".ohrfc/auth-model/checkpoint.md").exists()
    set_writable(shared / ".git", True)
    assert call(shared, "transition", "discover-design").returncode == 0
    assert call(shared, "init", "another").returncode == 0
    text = (shared / ".ohrfc/auth-model/checkpoint.md").read_text()
    assert "Speed matters" in text
