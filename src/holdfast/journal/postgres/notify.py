"""Telling those who wait that something was committed: after the commit, never in it.

NOTIFY takes a lock of the whole server and keeps it until its transaction is on disk: in the commit
itself, all workspaces of a server would wait for each other. On its own it waits for no disk.
"""

from __future__ import annotations

import time

import psycopg

from holdfast.journal.postgres.rows import NOTIFY, channel_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.journal.postgres.connect import Session

# Seconds after one in which a process sends no other; and after which whoever heard one looks again,
# for what was committed in that time. Commits that take longer are found by the next look of all.
SILENT_SECONDS = 0.2
AGAIN_SECONDS = 0.3


class Bell:
    """One process's, for one workspace."""

    def __init__(self) -> None:
        self._rung_at = -SILENT_SECONDS

    def ring(self, session: Session, workspace: int) -> None:
        """What was committed is safe: a notification is a hint, and one that is lost costs time only."""
        now = time.monotonic()
        if now - self._rung_at < SILENT_SECONDS:
            return
        self._rung_at = now
        try:
            session.execute(NOTIFY, (channel_of(workspace),))
        except psycopg.Error:
            pass
