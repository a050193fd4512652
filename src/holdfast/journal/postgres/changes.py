"""Following a workspace on a server: which streams have something new, and an ear for it."""

from __future__ import annotations

import psycopg

from holdfast.journal.postgres.connect import connect
from holdfast.journal.postgres.errors import in_our_words
from holdfast.journal.postgres.rows import channel_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.journal.postgres.commit import Tip
    from holdfast.journal.postgres.journal import PostgresJournal


def tip(journal: PostgresJournal, stream: str) -> Tip:
    """Where a stream that exists ends: its version and the hash of its last record."""
    number = journal.number()
    row: Any = journal.steadily(
        "reading the journal",
        lambda session: session.execute(
            "SELECT version, hash FROM holdfast.streams WHERE workspace = %s AND name = %s",
            (number, stream),
        ).fetchone(),
    )
    return row[0], row[1]


def newest(journal: PostgresJournal) -> int:
    """The number of the workspace's newest record."""
    number = journal.number()
    row: Any = journal.steadily(
        "reading the journal",
        lambda session: session.execute(
            "SELECT seq FROM holdfast.workspaces WHERE number = %s", (number,)
        ).fetchone(),
    )
    return int(row[0]) if row else 0


def changed(journal: PostgresJournal, after: int, until: int) -> list[str]:
    """The streams that got records after one number, up to another. Without the records: a fleet's
    heartbeats are read by their own machine alone."""
    number = journal.number()
    rows: Any = journal.steadily(
        "reading the journal",
        lambda session: session.execute(
            "SELECT DISTINCT s.name FROM holdfast.records r"
            " JOIN holdfast.streams s ON s.number = r.stream"
            " WHERE r.workspace = %s AND r.seq > %s AND r.seq <= %s ORDER BY s.name",
            (number, after, until),
        ).fetchall(),
    )
    return [name for (name,) in rows]


class Ear:
    """A connection that hears when something is committed. A notification is a hint, not a promise."""

    def __init__(self, journal: PostgresJournal) -> None:
        self._journal = journal
        self._session = connect(journal.url)
        self._number = 0
        self._again = False

    def wait(self, seconds: float) -> bool:
        """At most so long; whether something was heard."""
        try:
            if not self._number and self._journal.number():
                self._number = self._journal.number()
                self._session.execute(f"LISTEN {channel_of(self._number)}")
                self._again = True
                return True  # what came before we listened
            # After one that was heard comes a time in which others are not sent.
            heard, self._again = self._again, False
            for _ in self._session.notifies(timeout=seconds, stop_after=1):
                heard = self._again = True
            return heard
        except psycopg.Error as error:
            doing = "waiting for the next record"
            raise in_our_words(error, doing, self._journal.place) from None

    def close(self) -> None:
        self._session.close()
