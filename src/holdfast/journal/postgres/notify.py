"""NOTIFY tells the processes that wait for records of a commit; LISTEN is how they wait, and how a machine
follows a workspace on a server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psycopg

from holdfast.journal.postgres.connect import ServerSession, connect
from holdfast.journal.postgres.errors import in_our_words
from holdfast.journal.postgres.rows import NOTIFY, channel_of
from holdfast.kernel.errors import StoreAway

if TYPE_CHECKING:
    from holdfast.journal.postgres.commit import Tip
    from holdfast.journal.postgres.journal import PostgresJournal

# Seconds after a notification in which a process sends no other; and after which a process that
# heard one looks again, for what was committed in that time. Commits that take longer are found by the next look of all.
SILENT_SECONDS = 0.2
AGAIN_SECONDS = 0.3
# A notification is a hint, not a promise: a network or a pooler may swallow it. So we also look.
LOOK_SECONDS = 5.0
# A workspace without a first record has no number to listen for yet.
UNBORN_SECONDS = 0.2


class Bell:
    """The notifications of one process for one workspace."""

    def __init__(self) -> None:
        self._rung_at = -SILENT_SECONDS

    def ring(self, session: ServerSession, workspace: int) -> None:
        """Send a notification. It is a hint: one that is lost costs time, and no record."""
        now = time.monotonic()
        if now - self._rung_at < SILENT_SECONDS:
            return
        self._rung_at = now
        try:
            session.execute(NOTIFY, (channel_of(workspace),))
        except psycopg.Error:
            pass


def wait(journal: PostgresJournal, seq: int, seconds: float) -> bool:
    """Until something was committed after `seq`, at most so long; whether it was."""
    deadline = time.monotonic() + seconds
    if journal.since(seq, limit=1):
        return True
    while True:
        try:
            return _listen(journal, seq, deadline)
        except StoreAway:
            # A server that restarts ends this connection.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _listen(journal: PostgresJournal, seq: int, deadline: float) -> bool:
    ear = connect(journal.url)
    try:
        number, again = 0, False
        while True:
            if not number and journal.number():
                number, again = journal.number(), True
                ear.execute(f"LISTEN {channel_of(number)}")
            # After LISTEN: what came in between would not wake us.
            if journal.since(seq, limit=1):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            pause = AGAIN_SECONDS if again else LOOK_SECONDS if number else UNBORN_SECONDS
            again = False
            for _ in ear.notifies(timeout=min(left, pause), stop_after=1):
                again = True
    except psycopg.Error as error:
        raise in_our_words(error, "waiting for the next record", journal.place) from None
    finally:
        ear.close()


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


def record_at(journal: PostgresJournal, seq: int) -> str:
    """The id of the record with a number; empty when there is none."""
    number = journal.number()
    row: Any = journal.steadily(
        "reading the journal",
        lambda session: session.execute(
            "SELECT id FROM holdfast.records WHERE workspace = %s AND seq = %s", (number, seq)
        ).fetchone(),
    )
    return str(row[0]) if row else ""


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

    again_seconds = AGAIN_SECONDS

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
