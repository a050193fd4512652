"""Copy a workspace into or out of a SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.journal.chain import ORIGIN
from holdfast.journal.sqlite import SqliteJournal
from holdfast.journal.sqlite_rows import store_effects, store_views
from holdfast.kernel import canonical_json

if TYPE_CHECKING:
    from holdfast.journal.interface import Anchored, Effect, Head, Refusal, Sealed, ViewRow


class SqliteMover:
    """A file that receives records is no workspace's journal until it is put into its place."""

    def __init__(self, journal: SqliteJournal) -> None:
        self.journal = journal

    @contextmanager
    def still(self, why: str, stays: bool) -> Iterator[None]:
        with self.journal.transaction():
            yield

    def begin(self, why: str) -> None:
        pass

    def add(self, ends: Anchored, head: Head, batch: list[Sealed]) -> None:
        with self.journal.transaction() as connection:
            connection.execute(
                "INSERT INTO streams (name, version, hash, fence, seen_at, anchor_hash)"
                " VALUES (?, 0, ?, 0, '', ?) ON CONFLICT (name) DO NOTHING",
                (ends["stream"], ORIGIN, ORIGIN),
            )
            row: Any = connection.execute(
                "SELECT number, version, hash FROM streams WHERE name = ?", (ends["stream"],)
            ).fetchone()
            number, version, record_hash = row
            for item in batch:
                record = item["record"]
                version, record_hash = record["version"], item["hash"]
                connection.execute(
                    "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        record["seq"],
                        record["id"],
                        number,
                        version,
                        record["at"],
                        record["actor"],
                        record["fence"],
                        record["kind"],
                        item["salt"],
                        item["body_text"],
                        item["body_hash"],
                        record_hash,
                    ),
                )
            if version <= ends["anchor_version"]:
                version, record_hash = ends["anchor_version"], ends["anchor_hash"]
            connection.execute(
                "DELETE FROM records WHERE stream = ? AND version <= ?",
                (number, ends["anchor_version"]),
            )
            connection.execute(
                "UPDATE streams SET version = ?, hash = ?, fence = ?, seen_at = ?, closed_at = ?,"
                " anchor_version = ?, anchor_hash = ? WHERE number = ?",
                (
                    version,
                    record_hash,
                    head["fence"],
                    head["seen_at"],
                    head["closed_at"],
                    ends["anchor_version"],
                    ends["anchor_hash"],
                    number,
                ),
            )

    def complete(
        self, fence: int, refusals: list[Refusal], views: list[ViewRow], effects: list[Effect]
    ) -> None:
        with self.journal.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('fence', ?)", (str(fence),))
            store_views(connection, views)
            store_effects(connection, effects)
            for refusal in refusals:
                values: Any = {**refusal, "drafts": canonical_json.dumps(refusal["drafts"])}
                connection.execute(
                    "INSERT OR IGNORE INTO refused VALUES"
                    " (:id, :stream, :at, :actor, :fence, :reason, :drafts)",
                    values,
                )

    def finish(self) -> None:
        pass

    def fence(self) -> int:
        return int(self.journal.get("fence") or "0")
