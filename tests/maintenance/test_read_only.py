"""`holdfast doctor` where the journal or the work tree cannot be written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.privileges import modes_count

# `cd` again: the folder of the process is on the new mount only then.
DOCTOR = """
for path in "$@"; do mount --bind "$path" "$path" && mount -o remount,ro,bind "$path" || exit 90; done
cd "$PWD" && exec "$0" -m holdfast doctor --json
"""


def check_read_only(*paths: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """What doctor says where these are read-only: its exit code, and the checks by their ids."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("No right to make a mount namespace: a read-only disk was NOT tried.")
    words = ["unshare", "-m", "sh", "-c", DOCTOR, sys.executable, *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    checks = json.loads(done.stdout)["data"]["checks"]
    return done.returncode, {check["id"]: check for check in checks}


@pytest.mark.parametrize("name", ["", "journal.db", "journal.db-wal", "lock"])
def test_a_read_only_journal_is_a_problem_and_records_wait(
    repository: Path, holdfast: Holdfast, name: str
) -> None:
    holdfast("note", "one")
    code, checks = check_read_only(repository / ".git" / "holdfast" / name)
    found = checks["writable"]
    assert (code, found["status"]) == (1, "problem")
    assert str(repository / ".git" / "holdfast" / "journal.db") in found["what"]
    assert f"wait in {repository / '.holdfast' / 'inbox'}" in found["why"]
    assert "administrator" in found["fix"]
    assert str(repository / ".git" / "holdfast" / name) in found["fix"]
    assert checks["exchange"]["status"] == checks["chains"]["status"] == "ok"


@pytest.mark.parametrize("journal", ["none", "readable", "without its index"])
def test_where_nothing_can_be_written_records_are_lost(
    repository: Path, holdfast: Holdfast, journal: str
) -> None:
    if journal != "none":
        holdfast("note", "one")
    if journal == "without its index":
        (repository / ".git" / "holdfast" / "journal.db-shm").unlink()
    code, checks = check_read_only(repository)
    assert (code, checks["writable"]["status"]) == (1, "problem")
    assert "lost" in checks["writable"]["why"]
    assert checks["exchange"]["status"] == "problem"


def test_a_read_only_work_tree_is_a_problem_and_records_are_kept(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("note", "one")
    discover(str(repository)).prepare_tool_folder()
    code, checks = check_read_only(repository / ".holdfast")
    assert (code, checks["writable"]["status"]) == (1, "ok")
    assert checks["exchange"]["status"] == "problem"
    assert ".ccc-progress.md" in checks["exchange"]["why"]
    assert str(repository / ".holdfast") in checks["exchange"]["fix"]


def test_the_owner_of_a_read_only_journal_is_named(repository: Path, holdfast: Holdfast) -> None:
    holdfast("note", "one")
    home = repository / ".git" / "holdfast"
    home.chmod(0o500)
    with modes_count():
        answer = holdfast("doctor")
    home.chmod(0o700)
    assert answer.code == 1
    assert f"The user {home.owner()}, who owns {home}, makes it writable" in answer.out
