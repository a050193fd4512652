"""A workspace on its way into or out of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.journal.chain import ORIGIN
from holdfast.journal.postgres import rows
from holdfast.journal.postgres.commit import MOVING
from holdfast.journal.postgres.connect import ServerSession
from holdfast.journal.postgres.journal import PostgresJournal

if TYPE_CHECKING:
    from holdfast.journal.interface import Anchored, Effect, Head, Refusal, Sealed, ViewRow


class PostgresMover:
    """While it moves, the workspace's row says so, and no writer gets a number for a new record."""

    def __init__(self, journal: PostgresJournal) -> None:
        self.journal = journal

    @contextmanager
    def still(self, why: str, stays: bool) -> Iterator[None]:
        self._hold(why)
        try:
            yield
        except BaseException:
            self._hold("")
            raise
        # It stays so: what would be written here now, its readers elsewhere would never see.
        self._hold("" if stays else why.replace(MOVING, "it was moved"))

    def begin(self, why: str) -> None:
        self.journal.register()
        self._hold(why)

    def _hold(self, why: str) -> None:
        number = self.journal.number()
        self.journal.steadily(
            "moving the journal",
            lambda session: session.execute(
                "UPDATE holdfast.workspaces SET held = %s WHERE number = %s", (why, number)
            ),
        )

    def add(self, ends: Anchored, head: Head, batch: list[Sealed]) -> None:
        workspace = self.journal.number()

        def once(session: ServerSession) -> None:
            with session.transaction():
                self._add(session, workspace, ends, head, batch)

        self.journal.steadily("moving the journal", once)

    def _add(
        self,
        session: ServerSession,
        workspace: int,
        ends: Anchored,
        head: Head,
        batch: list[Sealed],
    ) -> None:
        session.execute(
            f"{rows.NEW_STREAM.partition(' RETURNING')[0]} ON CONFLICT (workspace, name) DO NOTHING",
            (workspace, ends["stream"], ORIGIN, ORIGIN),
        )
        row: Any = session.execute(
            "SELECT number, version, hash FROM holdfast.streams WHERE workspace = %s AND name = %s",
            (workspace, ends["stream"]),
        ).fetchone()
        number, version, record_hash = row
        new = [item for item in batch if item["record"]["version"] > version]
        if new:
            session.cursor().executemany(
                rows.INSERT,
                [
                    (
                        workspace,
                        item["record"]["seq"],
                        item["record"]["id"],
                        number,
                        item["record"]["version"],
                        item["record"]["at"],
                        item["record"]["actor"],
                        item["record"]["fence"],
                        item["record"]["kind"],
                        item["salt"],
                        item["body_text"],
                        item["body_hash"],
                        item["hash"],
                    )
                    for item in new
                ],
            )
            version, record_hash = new[-1]["record"]["version"], new[-1]["hash"]
        if version <= ends["anchor_version"]:
            version, record_hash = ends["anchor_version"], ends["anchor_hash"]
        session.execute(
            "DELETE FROM holdfast.records WHERE stream = %s AND version <= %s",
            (number, ends["anchor_version"]),
        )
        session.execute(
            "UPDATE holdfast.streams SET version = %s, hash = %s, fence = %s, seen_at = %s,"
            " closed_at = %s, anchor_version = %s, anchor_hash = %s WHERE number = %s",
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
        number, machine = self.journal.number(), self.journal.machine

        def once(session: ServerSession) -> None:
            with session.transaction():
                session.execute(
                    "UPDATE holdfast.workspaces SET fence = greatest(fence, %s), seq = greatest(seq,"
                    " (SELECT max(seq) FROM holdfast.records WHERE workspace = %s))"
                    " WHERE number = %s",
                    (fence, number, number),
                )
                cursor = session.cursor()
                rows.store_views(cursor, number, machine, views)
                rows.store_effects(cursor, number, self.journal.with_owners(effects))
                for refusal in refusals:
                    session.execute(
                        "DELETE FROM holdfast.refused WHERE workspace = %s AND id = %s",
                        (number, refusal["id"]),
                    )
                    rows.store_refusal(cursor, number, refusal)

        self.journal.steadily("moving the journal", once)

    def finish(self) -> None:
        self._hold("")

    def fence(self) -> int:
        number = self.journal.number()
        row: Any = self.journal.steadily(
            "reading the journal",
            lambda session: session.execute(
                "SELECT fence FROM holdfast.workspaces WHERE number = %s", (number,)
            ).fetchone(),
        )
        return int(row[0]) if row else 0
