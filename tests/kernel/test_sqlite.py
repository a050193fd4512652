"""The SQLite journal: its settings, its formats, and the traps that shaped it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from holdfast.journal import sqlite_rows, upkeep
from holdfast.journal.chain import verify
from holdfast.journal.sqlite import FORMAT, SqliteJournal
from holdfast.kernel.errors import HoldfastError, NotFound, StoreAway
from tests.journal.conformance.examples import at, draft, drafts, write
from tests.kernel import processes


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "journal.db")


@pytest.fixture
def journal(path: str) -> Iterator[SqliteJournal]:
    opened = SqliteJournal(path)
    yield opened
    opened.close()


def pragma(journal: SqliteJournal, name: str) -> object:
    [(value,)] = journal.connection().execute(f"PRAGMA {name}").fetchall()
    return value


def assert_sound(journal: SqliteJournal) -> None:
    assert upkeep.integrity(journal.connection()) == []
    assert [found["broken"] for found in verify(journal) if found["broken"]] == []


def test_commits_are_synced_into_a_wal_that_stays(journal: SqliteJournal, path: str) -> None:
    write(journal, "note:a")

    assert pragma(journal, "journal_mode") == "wal"
    assert pragma(journal, "synchronous") == 2
    assert pragma(journal, "user_version") == FORMAT
    journal.close()
    assert Path(path + "-wal").stat().st_size > 0, "closing did not checkpoint"


def test_a_sign_of_life_is_not_synced_and_the_next_record_is(journal: SqliteJournal) -> None:
    write(journal, "agent:a")

    with journal.transaction(durable=False):
        assert pragma(journal, "synchronous") == 1

    assert pragma(journal, "synchronous") == 2


def test_a_newer_format_is_refused_and_nothing_is_changed(
    journal: SqliteJournal, path: str
) -> None:
    write(journal, "note:a")
    journal.connection().execute("PRAGMA user_version = 99").fetchall()
    journal.connection().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    journal.close()
    before = {file.name: file.read_bytes() for file in Path(path).parent.glob("*.db")}

    with pytest.raises(HoldfastError) as refused:
        SqliteJournal(path)

    assert refused.value.kind == "newer_format"
    assert {file.name: file.read_bytes() for file in Path(path).parent.glob("*.db")} == before
    reader = apsw.Connection(path)
    assert reader.execute("PRAGMA user_version").fetchall() == [(99,)]
    assert reader.execute("SELECT count(*) FROM records").fetchall() == [(1,)]
    reader.close()


def test_many_processes_that_make_one_journal_at_once_all_succeed(path: str) -> None:
    instant = time.time() + 1
    makers = [processes.start("open_at", path, str(instant)) for _ in range(6)]
    for maker in makers:
        maker.communicate()

    assert [maker.returncode for maker in makers] == [0] * 6
    journal = SqliteJournal(path)
    assert [record["version"] for record in journal.read("note:plan")] == list(range(1, 7))
    assert_sound(journal)
    journal.close()


def test_who_opens_a_journal_that_another_is_just_making_waits_for_it(path: str) -> None:
    """Turning WAL on meets the other's lock, and there SQLite itself does not wait."""
    other = apsw.Connection(path)
    # As every writer of ours: its commit waits for the instant in which we look at the file.
    other.set_busy_handler(sqlite_rows.patience())
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.1, lambda: other.execute("COMMIT"))
    done.start()

    journal = SqliteJournal(path)

    done.join()
    write(journal, "note:a")
    assert pragma(journal, "journal_mode") == "wal"
    journal.close()
    other.close()


def test_a_reader_without_the_right_to_write_reads_what_others_commit(
    journal: SqliteJournal, path: str
) -> None:
    reader = SqliteJournal(path, read_only=True)
    written = write(journal, "note:a", *drafts(3))

    assert reader.read("note:a") == written
    with pytest.raises(StoreAway) as refused:
        write(reader, "note:a")
    assert refused.value.kind == "read_only"
    reader.close()


def test_a_reader_of_a_journal_that_is_not_there_is_told_so(path: str) -> None:
    Path(path).touch()

    with pytest.raises(NotFound):
        SqliteJournal(path, read_only=True)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_rows, "BUSY_SECONDS", 0.03)


@pytest.mark.usefixtures("impatient")
def test_a_busy_journal_says_so_and_works_again_afterwards(path: str) -> None:
    journal = SqliteJournal(path)
    write(journal, "note:a")
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreAway) as away:
        write(journal, "note:a")

    assert (away.value.kind, away.value.retryable) == ("store_busy", True)
    assert len(journal.read("note:a")) == 1, "readers are not kept waiting"
    other.execute("ROLLBACK")
    write(journal, "note:a")
    assert len(journal.read("note:a")) == 2
    other.close()
    journal.close()


@pytest.mark.usefixtures("impatient")
def test_a_sign_of_life_that_met_a_busy_journal_leaves_commits_synced(path: str) -> None:
    journal = SqliteJournal(path)
    write(journal, "agent:a")
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreAway):
        journal.touch("agent:a", at(1))

    assert pragma(journal, "synchronous") == 2
    other.close()
    journal.close()


def test_each_thread_has_a_connection_of_its_own(journal: SqliteJournal) -> None:
    connections = {id(journal.connection())}
    together = threading.Barrier(4, timeout=30)

    def work() -> None:
        together.wait()
        connections.add(id(journal.connection()))
        write(journal, "note:a", *drafts(5))
        together.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(connections) == 5
    assert journal.connection() is journal.connection()
    assert [record["version"] for record in journal.read("note:a")] == list(range(1, 21))
    assert_sound(journal)


def test_a_forked_child_has_a_connection_of_its_own(path: str) -> None:
    answer = processes.run("forked", path)

    assert answer.split() == ["0", "True"]
    journal = SqliteJournal(path)
    counts = {head["stream"]: head["version"] for head in journal.heads()}
    assert counts == {"note:before": 1, "note:child": 50, "note:parent": 51}
    assert_sound(journal)
    journal.close()


def test_an_erased_body_is_in_none_of_the_files_after_compaction(
    journal: SqliteJournal, path: str
) -> None:
    secret = "hunter2" * 400
    [record, *_] = write(journal, "note:a", draft({"text": secret}), *drafts(3))

    journal.erase([record["id"]])
    upkeep.compact(journal, always=True)
    journal.close()

    for file in Path(path).parent.iterdir():
        assert b"hunter2" not in file.read_bytes(), file.name
