"""The schema: made once by whoever is first, and two versions of holdfast beside each other."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg
import pytest

from holdfast.journal.postgres import connect
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.kernel.errors import HoldfastError
from holdfast.testing.journal.examples import finding, write
from tests.cli.conftest import Holdfast


def test_of_many_who_come_first_one_makes_the_schema(empty_database: str) -> None:
    start = threading.Barrier(6, timeout=60)
    failed: list[Exception] = []

    def come(number: int) -> None:
        start.wait()
        try:
            journal = PostgresJournal(empty_database, "first", f"machine {number}")
            write(journal, "note:plan")
            journal.close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=come, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    journal = PostgresJournal(empty_database, "first", "")
    assert [record["version"] for record in journal.read("note:plan")] == [1, 2, 3, 4, 5, 6]
    journal.close()


def upgrade(url: str, folder: Path, oldest: int) -> None:
    """What the next holdfast would do on its first command."""
    (folder / "0004_priority.sql").write_text(
        f"-- oldest: {oldest}\n"
        "ALTER TABLE holdfast.records ADD COLUMN priority integer NOT NULL DEFAULT 0;\n"
        "ALTER TABLE holdfast.streams ADD COLUMN owner text NOT NULL DEFAULT '';\n"
    )
    session = connect.connect(url)
    assert connect.migrate(session, 4, str(folder)) == (4, oldest)
    assert connect.migrate(session, 4, str(folder)) == (4, oldest), "again is a no-op"
    session.close()


def test_the_old_holdfast_goes_on_beside_the_new_one(empty_database: str, tmp_path: Path) -> None:
    old = PostgresJournal(empty_database, "both", "old")
    write(old, "note:plan")

    upgrade(empty_database, tmp_path, oldest=3)

    write(old, "note:plan")
    late = PostgresJournal(empty_database, "both", "old too")
    write(late, "note:other")
    assert finding(late, "note:plan")["broken"] == ""
    assert len(late.since(0)) == 3
    old.close()
    late.close()


def test_a_format_that_has_no_room_for_us_is_refused(
    empty_database: str,
    tmp_path: Path,
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    PostgresJournal(empty_database, "gone", "").close()
    upgrade(empty_database, tmp_path, oldest=4)
    monkeypatch.setenv("HOLDFAST_URL", empty_database)
    answer = holdfast("note", "x", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (1, "newer_format")
    assert "format 4" in answer.envelope["error"]["message"]


def test_a_migration_that_fails_leaves_nothing_behind(empty_database: str, tmp_path: Path) -> None:
    journal = PostgresJournal(empty_database, "half", "")
    (tmp_path / "0004_broken.sql").write_text(
        "-- oldest: 3\nCREATE TABLE holdfast.half (x text);\nSELECT 1 / 0;\n"
    )
    with pytest.raises(psycopg.Error):
        connect.migrate(journal.session(), 4, str(tmp_path))
    write(journal, "note:plan")
    [(half,)] = journal.session().execute("SELECT to_regclass('holdfast.half')").fetchall()
    assert half is None
    journal.close()


def test_an_upgrade_waits_for_the_other_that_is_under_way(
    empty_database: str, tmp_path: Path
) -> None:
    PostgresJournal(empty_database, "w", "").close()
    (tmp_path / "0004_once.sql").write_text("-- oldest: 3\nCREATE TABLE holdfast.once (x text);\n")
    sessions = [connect.connect(empty_database) for _ in range(4)]
    results: list[object] = []

    def go(session: connect.ServerSession) -> None:
        try:
            results.append(connect.migrate(session, 4, str(tmp_path)))
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=go, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(4, 3)] * 4
    for session in sessions:
        session.close()


def test_sessions_are_durable_whatever_the_database_says(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        connection.execute(
            f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"
        )
    journal = PostgresJournal(empty_database, "durable", "")
    for setting, expected in (
        ("synchronous_commit", "on"),
        ("default_transaction_isolation", "read committed"),
    ):
        [(value,)] = journal.session().execute(f"SHOW {setting}").fetchall()
        assert value == expected
    journal.close()


def test_an_unreadable_psycopg_is_named(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    import sys

    for module in [name for name in sys.modules if name.startswith("holdfast.journal.postgres")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setenv("HOLDFAST_URL", url)
    answer = holdfast("note", "x", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (1, "missing_extra")
    assert "[postgres]'" in answer.envelope["error"]["hint"]
    assert isinstance(HoldfastError("x"), Exception)
