"""The journals that are tested, and for each how somebody would tamper with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import psycopg

from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.journal.sqlite import SqliteJournal
from holdfast.testing.journal import Store
from tests.journal.postgres.database import database_url

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


class InSqlite:
    name = "sqlite"

    def open(self, folder: Path) -> Journal:
        return SqliteJournal(os.path.join(folder, "journal.db"))

    def change_body(self, journal: Journal, id: str, text: str) -> None:
        self._tamper(journal, "UPDATE records SET body = ?2 WHERE id = ?1", id, text)

    def change_actor(self, journal: Journal, id: str, actor: str) -> None:
        self._tamper(journal, "UPDATE records SET actor = ?2 WHERE id = ?1", id, actor)

    def remove(self, journal: Journal, id: str) -> None:
        self._tamper(journal, "DELETE FROM records WHERE id = ?1", id)

    def change_snapshot(self, journal: Journal, text: str) -> None:
        self._tamper(journal, "UPDATE snapshots SET state = ?", text)

    def _tamper(self, journal: Journal, sql: str, *values: str) -> None:
        assert isinstance(journal, SqliteJournal)
        other = apsw.Connection(journal.path)
        other.execute(sql, values)
        if other.changes() == 0:
            other.execute(sql.replace(" records ", " recent "), values)
        assert other.changes() == 1
        other.close()


class InPostgres:
    """Each journal is a workspace of its own in this process's database."""

    name = "postgres"

    def open(self, folder: Path) -> Journal:
        return PostgresJournal(database_url(), str(folder), "this machine")

    def change_body(self, journal: Journal, id: str, text: str) -> None:
        self._tamper(journal, "SET body = %s WHERE id = %s", text, id)

    def change_actor(self, journal: Journal, id: str, actor: str) -> None:
        self._tamper(journal, "SET actor = %s WHERE id = %s", actor, id)

    def remove(self, journal: Journal, id: str) -> None:
        self._tamper(journal, "WHERE id = %s", id)

    def change_snapshot(self, journal: Journal, text: str) -> None:
        assert isinstance(journal, PostgresJournal)
        with psycopg.connect(journal.url) as other:
            changed = other.execute(
                "UPDATE holdfast.snapshots SET state = %s WHERE stream IN"
                " (SELECT number FROM holdfast.streams WHERE workspace = %s)",
                (text, journal.number()),
            )
            assert changed.rowcount == 1

    def _tamper(self, journal: Journal, how: str, *values: str) -> None:
        assert isinstance(journal, PostgresJournal)
        verb = "UPDATE" if how.startswith("SET") else "DELETE FROM"
        with psycopg.connect(journal.url) as other:
            assert other.execute(f"{verb} holdfast.records {how}", values).rowcount == 1


STORES: tuple[Store, ...] = (InSqlite(), InPostgres())
