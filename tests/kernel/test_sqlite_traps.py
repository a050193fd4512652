"""Facts 5.1 and 5.2: what loses acknowledged commits of other SQLite programs loses none of ours.

A process that opens and closes the database's own files drops its locks there. Another process
then believes that it is alone, and without `NO_CKPT_ON_CLOSE` it would remove the WAL that the
first is still writing to.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.journal import upkeep
from holdfast.journal.chain import verify
from holdfast.journal.sqlite import SqliteJournal
from holdfast.testing.journal.examples import ids
from tests.kernel import processes


@pytest.fixture
def path(tmp_path: Path) -> str:
    folder = tmp_path / "home"
    folder.mkdir()
    return str(folder / "journal.db")


def acknowledged_by_a_victim(
    path: str, raw: str, meanwhile: Sequence[tuple[str, ...]]
) -> list[str]:
    """Start the victim, let the others do theirs, then let it commit 50 times and kill it."""
    victim = processes.start("victim", path, raw)
    assert victim.stdin is not None
    assert victim.stdout is not None
    assert victim.stdout.readline() == "open\n"
    acknowledged = []
    for name, *values in meanwhile:
        acknowledged += processes.run(name, *values).split()
    victim.stdin.write("go on\n")
    victim.stdin.flush()
    while (line := victim.stdout.readline().strip()) != "done":
        assert line, "the victim ended early"
        acknowledged.append(line)
    victim.kill()
    victim.communicate()
    return acknowledged


def assert_nothing_lost(path: str, acknowledged: list[str]) -> None:
    journal = SqliteJournal(path)
    kept = ids(journal.read("note:a"))
    assert sorted(kept[1:]) == sorted(acknowledged)
    assert [found["broken"] for found in verify(journal)] == [""]
    assert upkeep.integrity(journal.connection()) == []
    journal.close()


@pytest.mark.parametrize(
    "raw", ["", "-wal", "-shm", ",-wal,-shm"], ids=["main", "wal", "index", "all"]
)
def test_reading_the_files_of_ones_own_journal_loses_nothing(path: str, raw: str) -> None:
    acknowledged = acknowledged_by_a_victim(
        path, raw, meanwhile=[("append", path, "note:a", "1", "B")]
    )

    assert len(acknowledged) == 51
    assert_nothing_lost(path, acknowledged)


def test_many_visitors_lose_nothing_either(path: str) -> None:
    visits = [("append", path, "note:a", "20", f"visitor-{number}") for number in range(3)]

    acknowledged = acknowledged_by_a_victim(path, ",-wal,-shm", meanwhile=visits)

    assert len(acknowledged) == 110
    assert_nothing_lost(path, acknowledged)


def test_another_process_that_hashes_and_copies_the_folder_does_no_harm(
    path: str, tmp_path: Path
) -> None:
    acknowledged = acknowledged_by_a_victim(
        path,
        "",
        meanwhile=[
            ("append", path, "note:a", "1", "B"),
            ("hash_and_copy", os.path.dirname(path), str(tmp_path / "copy")),
            ("append", path, "note:a", "1", "B"),
        ],
    )

    assert len(acknowledged) == 52
    assert_nothing_lost(path, acknowledged)


def test_the_child_of_a_fork_loses_nothing_when_its_parent_is_gone(path: str) -> None:
    process = processes.start("orphan", path)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    process.wait()
    processes.run("append", path, "note:a", "1", "visitor")

    process.stdin.write("go on\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"

    journal = SqliteJournal(path)
    assert [record["version"] for record in journal.read("note:a")] == list(range(1, 54))
    assert [found["broken"] for found in verify(journal)] == [""]
    journal.close()
    process.communicate()


@pytest.mark.parametrize(
    ("version", "races"),
    [
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.44.7", False),
        ("3.45.3", True),
        ("3.50.4", True),
        ("3.50.7", False),
        ("3.51.0", True),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.52.0", False),
        ("3.54.1", False),
        ("4.0.0", False),
    ],
)
def test_which_sqlite_has_the_race_between_commit_and_checkpoint(version: str, races: bool) -> None:
    assert upkeep.has_reset_race(version) is races


def test_the_sqlite_in_use_does_not_have_it() -> None:
    import apsw

    assert not upkeep.has_reset_race(apsw.sqlite_lib_version())
