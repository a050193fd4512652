"""Backup and restore: copies through SQLite itself, whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from holdfast.journal import upkeep
from holdfast.journal.chain import verify
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.testing.journal.examples import draft, drafts, ids, write
from tests.kernel import processes


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    opened = SqliteJournal(str(tmp_path / "journal.db"))
    write(opened, "note:a", *drafts(20))
    yield opened
    opened.close()


@pytest.fixture
def copy(tmp_path: Path) -> str:
    return str(tmp_path / "copy.db")


def broken_chains(journal: SqliteJournal) -> list[str]:
    return [found["broken"] for found in verify(journal) if found["broken"]]


def test_a_copy_is_a_journal_in_one_file(journal: SqliteJournal, copy: str) -> None:
    upkeep.backup(journal, copy)

    assert sorted(name for name in os.listdir(Path(copy).parent) if "copy" in name) == ["copy.db"]
    opened = SqliteJournal(copy)
    assert opened.read("note:a") == journal.read("note:a")
    assert broken_chains(opened) == []
    opened.close()


def test_a_copy_made_while_others_write_is_consistent(journal: SqliteJournal, copy: str) -> None:
    writer = processes.start("append_until_told", journal.path, "note:busy", 2000)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"

    upkeep.backup(journal, copy)

    output, _ = writer.communicate("enough\n")
    assert len(journal.read("note:busy")) == int(output)
    opened = SqliteJournal(copy)
    assert upkeep.integrity(opened.connection()) == []
    assert broken_chains(opened) == []
    assert opened.read("note:a") == journal.read("note:a")
    copied = ids(opened.read("note:busy"))
    assert copied == ids(journal.read("note:busy"))[: len(copied)]
    opened.close()


def test_a_large_copy_is_finished_although_others_never_stop_writing(
    journal: SqliteJournal, copy: str
) -> None:
    """SQLite begins a copy in steps anew whenever somebody wrote between two of them."""
    for _ in range(40):
        write(journal, "note:large", draft("x" * 1_000_000))
    writers = [
        processes.start("append_until_told", journal.path, f"note:busy-{number}", 100)
        for number in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"

    # Many times what the copy takes alone; the writers are then stopped so that this test ends.
    def stop() -> None:
        for writer in writers:
            writer.terminate()

    mercy = threading.Timer(8, stop)
    mercy.start()

    upkeep.backup(journal, copy)

    mercy.cancel()
    still_writing = [writer.poll() is None for writer in writers]
    for writer in writers:
        writer.communicate("enough\n")
    assert still_writing == [True, True], "the copy was finished only after the writers stopped"
    upkeep.check_copy(copy)


def test_a_file_that_exists_is_not_overwritten(journal: SqliteJournal, copy: str) -> None:
    Path(copy).write_text("precious")

    with pytest.raises(HoldfastError, match="exists already"):
        upkeep.backup(journal, copy)

    assert Path(copy).read_text() == "precious"


def test_a_copy_that_was_interrupted_is_begun_anew(journal: SqliteJournal, copy: str) -> None:
    Path(copy + ".unfinished").write_text("half of it")

    upkeep.backup(journal, copy)

    upkeep.check_copy(copy)
    assert not os.path.exists(copy + ".unfinished")


def test_a_restored_journal_is_what_the_copy_was(journal: SqliteJournal, copy: str) -> None:
    as_copied = journal.read("note:a")
    upkeep.backup(journal, copy)
    other = SqliteJournal(journal.path)
    write(other, "note:a", *drafts(5))
    write(other, "note:later")

    upkeep.restore(journal, copy)

    for user in (journal, other):
        assert user.read("note:a") == as_copied
        assert user.head("note:later") is None
    write(other, "note:a")
    assert len(journal.read("note:a")) == 21
    assert broken_chains(journal) == []
    mode = journal.connection().execute("PRAGMA journal_mode").fetchall()
    assert mode == [("wal",)]
    other.close()


def refused_kind(journal: SqliteJournal, source: str) -> str:
    """Why a restore was refused; the journal is as it was."""
    before = journal.since(0)
    with pytest.raises(HoldfastError) as refused:
        upkeep.restore(journal, source)
    assert journal.since(0) == before
    return refused.value.kind


def test_what_is_no_journal_is_not_restored(journal: SqliteJournal, tmp_path: Path) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "foreign.db"
    text.write_text("I am not a database, but I am long enough to be taken for one. " * 99)
    connection = apsw.Connection(str(foreign))
    connection.execute("CREATE TABLE records (id)")
    connection.close()

    assert refused_kind(journal, str(text)) == "not_a_journal"
    assert refused_kind(journal, str(foreign)) == "not_a_journal"


def test_a_file_that_is_not_there_is_not_restored(journal: SqliteJournal, copy: str) -> None:
    with pytest.raises(NotFound):
        upkeep.restore(journal, copy)

    assert not os.path.exists(copy)


def test_a_damaged_copy_is_not_restored(journal: SqliteJournal, copy: str) -> None:
    write(journal, "note:large", draft("x" * 100_000))
    upkeep.backup(journal, copy)
    content = bytearray(Path(copy).read_bytes())
    content[8192:40960] = os.urandom(32768)
    Path(copy).write_bytes(content)

    assert refused_kind(journal, copy) == "journal_damaged"


def test_a_copy_cut_short_is_not_restored(journal: SqliteJournal, copy: str) -> None:
    write(journal, "note:large", draft("x" * 100_000))
    upkeep.backup(journal, copy)
    content = Path(copy).read_bytes()
    Path(copy).write_bytes(content[: len(content) // 2])

    assert refused_kind(journal, copy) in ("journal_damaged", "not_a_journal")


def test_a_copy_of_a_newer_format_is_not_restored(journal: SqliteJournal, copy: str) -> None:
    upkeep.backup(journal, copy)
    connection = apsw.Connection(copy)
    connection.execute("PRAGMA user_version = 99").fetchall()
    connection.close()

    assert refused_kind(journal, copy) == "newer_format"
