"""The SQLite journal: its settings, its formats, and the traps that shaped it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.journal import sqlite_rows, upkeep
from holdfast.journal.chain import verify
from holdfast.journal.interface import Append
from holdfast.journal.sqlite import FORMAT, SqliteJournal
from holdfast.kernel.errors import (
    Conflict,
    FenceLost,
    HoldfastError,
    NotFound,
    StoreAway,
    StreamClosed,
    VersionConflict,
)
from holdfast.testing.journal.examples import at, draft, drafts, write
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
    assert reader.execute("SELECT count(*) FROM recent").fetchall() == [(1,)]
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


def tables(journal: SqliteJournal) -> tuple[int, int]:
    [(filed, recent)] = journal.connection().execute(
        "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM recent)"
    )
    return int(filed), int(recent)


def pages_of_log(path: str) -> int:
    return (Path(path + "-wal").stat().st_size - 32) // (8192 + 24)


def test_a_record_is_one_page_of_the_log(journal: SqliteJournal, path: str) -> None:
    write(journal, "note:a", *drafts(2))
    journal.connection().wal_autocheckpoint(0)
    journal.connection().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    for number in range(5):
        write(journal, "note:a", draft(number))
        assert pages_of_log(path) == number + 1


def test_the_newest_records_are_moved_together_and_read_as_one(journal: SqliteJournal) -> None:
    count = 2 * sqlite_rows.MOST_RECENT + 5
    for number in range(count):
        write(journal, f"note:{number % 3}", draft(number))

    filed, recent = tables(journal)
    assert 0 < recent < sqlite_rows.MOST_RECENT < filed
    assert [record["seq"] for record in journal.since(0)] == list(range(1, count + 1))
    newest = journal.latest(limit=count)
    assert [record["seq"] for record in newest] == list(range(count, 0, -1))
    assert [record["seq"] for record in journal.latest(before=filed + 2, limit=2)] == [
        filed + 1,
        filed,
    ]
    for number in range(3):
        versions = [record["version"] for record in journal.read(f"note:{number}")]
        assert versions == list(range(1, len(versions) + 1))
        loaded = journal.load(f"note:{number}")
        assert loaded["head"] == journal.head(f"note:{number}")
        assert loaded["head"] is not None
        assert loaded["head"]["version"] == versions[-1]
    assert_sound(journal)


def test_a_large_record_does_not_stay_among_the_newest(journal: SqliteJournal) -> None:
    write(journal, "note:a", draft(1))
    large = draft(2)
    large["text"] = '"' + "x" * (sqlite_rows.LARGEST_RECENT + 1) + '"'

    write(journal, "note:a", large)

    assert tables(journal) == (2, 0)


def test_an_id_is_known_in_both_tables(journal: SqliteJournal) -> None:
    first = draft(1)
    write(journal, "note:a", first)
    for _ in range(2):
        [receipt] = journal.commit([Append("note:a", [first], expected=None)])
        assert receipt["duplicate"]
        journal.file_recent()
    assert tables(journal) == (1, 0)


def test_the_log_is_small_again_after_a_large_commit(journal: SqliteJournal, path: str) -> None:
    large = draft(1)
    large["text"] = '"' + "x" * 3_000_000 + '"'
    write(journal, "note:a", large)
    for number in range(2, 60):
        write(journal, "note:a", draft(number))

    assert Path(path + "-wal").stat().st_size <= 512 * 1024


def test_a_reader_who_cannot_migrate_reads_an_older_journal(path: str) -> None:
    journal = SqliteJournal(path)
    written = write(journal, "note:a", *drafts(3))
    journal.file_recent()
    journal.connection().execute("ALTER TABLE snapshots DROP COLUMN digest").fetchall()
    journal.connection().execute("DROP TABLE recent; PRAGMA user_version = 1").fetchall()
    journal.close()

    reader = SqliteJournal(path, read_only=True)

    assert reader.read("note:a") == written
    assert reader.load("note:a")["records"] == written
    reader.close()
    writer = SqliteJournal(path)
    assert pragma(writer, "user_version") == FORMAT
    write(writer, "note:a", draft(4))
    assert_sound(writer)
    writer.close()


@pytest.mark.parametrize("version", [0, 1, 7])
def test_a_database_of_another_program_is_not_taken_over(path: str, version: int) -> None:
    other = apsw.Connection(path)
    other.execute("CREATE TABLE records (a); INSERT INTO records VALUES (1)").fetchall()
    other.execute(f"PRAGMA user_version = {version}").fetchall()
    other.close()
    before = Path(path).read_bytes()

    for read_only in (False, True):
        with pytest.raises(HoldfastError) as refused:
            SqliteJournal(path, read_only=read_only)
        assert refused.value.kind in ("not_a_journal", "newer_format")
        assert refused.value.hint

    assert Path(path).read_bytes() == before


def test_what_another_connection_did_is_seen_by_the_next_append(
    journal: SqliteJournal, path: str
) -> None:
    """An append looks again only if the file has changed since this connection's last one."""
    write(journal, "note:a", *drafts(2))
    write(journal, "agent:a", draft(1))
    other = SqliteJournal(path)
    theirs = draft(3)
    write(other, "note:a", theirs)

    with pytest.raises(VersionConflict):
        journal.commit([Append("note:a", [draft(4)], expected=2)])
    [again] = journal.commit([Append("note:a", [theirs], expected=None)])
    assert again["duplicate"]
    [receipt] = journal.commit([Append("note:a", [draft(5)], expected=3)])
    assert receipt["version"] == 4

    other.commit([Append("agent:a", [draft(6)], expected=1, grant=True)])
    with pytest.raises(FenceLost):
        journal.commit([Append("agent:a", [draft(7)], expected=None, fence=0)])
    other.end("note:a", at(9))
    with pytest.raises(StreamClosed):
        write(journal, "note:a", draft(8))
    other.close()
    assert_sound(journal)


def test_a_refused_commit_leaves_nothing_behind_in_what_the_writer_knows(
    journal: SqliteJournal,
) -> None:
    first = draft(1)
    write(journal, "note:a", first)

    with pytest.raises(Conflict):
        journal.commit(
            [
                Append("note:a", [draft(2)], expected=1),
                Append("note:b", [draft(3), first], expected=0),
            ]
        )

    [receipt] = journal.commit([Append("note:a", [draft(4)], expected=1)])
    assert [(record["seq"], record["version"]) for record in receipt["records"]] == [(2, 2)]
    assert journal.head("note:b") is None
    assert_sound(journal)


def test_the_time_of_a_large_append_grows_with_its_records_alone(journal: SqliteJournal) -> None:
    """The ids of 20,000 records are looked up in a set, not among all records before each."""
    many = drafts(20_000)

    def seconds(stream: str, records: list[Any]) -> float:
        began = time.process_time()
        write(journal, stream, *records)
        return time.process_time() - began

    a_few = min(seconds(f"note:{number}", drafts(500)) for number in range(3)) / 500
    assert seconds("note:many", many) / len(many) < 8 * a_few
    assert_sound(journal)
