"""The connections of one process to one database, and what is done when one of them dies."""

from __future__ import annotations

import os
import time
from _thread import get_ident

import psycopg

from holdfast.journal.postgres.connect import ServerSession, connect
from holdfast.journal.postgres.errors import PATIENCE_SECONDS, in_our_words, is_lost
from holdfast.journal.postgres.url import without_password
from holdfast.kernel.errors import StoreAway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from holdfast.kernel.clock import Anchor

    Done = TypeVar("Done")


class Sessions:
    """A connection for each thread of each process. `place` is the URL as people may see it."""

    def __init__(self, url: str, heard: Callable[[Anchor], None] | None = None) -> None:
        """`heard` is told the server's time at every connection."""
        self._sessions: dict[tuple[int, int], ServerSession] = {}
        self._heard = heard
        self.url = url
        self.place = without_password(url)

    def present(self) -> ServerSession | None:
        """This thread's connection, if it has one that works."""
        # A forked child must not touch its parent's connection, so the key holds the process too.
        session = self._sessions.get((os.getpid(), get_ident()))
        return None if session is None or session.closed else session

    def session(self) -> ServerSession:
        """This thread's connection, made on first use."""
        session = self.present()
        if session is None:
            session = self._sessions[os.getpid(), get_ident()] = connect(self.url)
            if self._heard is not None:
                self._heard(session.anchor)
        return session

    def now(self) -> int:
        """What time it is by the server's clock; a connection that is open has told it already."""
        return self.session().anchor.now()

    def close(self) -> None:
        process = os.getpid()
        for (owner, _), session in list(self._sessions.items()):
            if owner == process:
                session.close()
        self._sessions.clear()

    def __del__(self) -> None:
        # psycopg warns of a connection that is dropped while it is open.
        self.close()

    def steadily(self, doing: str, action: Callable[[ServerSession], Done]) -> Done:
        """Do it, and again on a new connection when the present one dies under it."""
        deadline = 0.0
        while True:
            try:
                session = self.session()
            except StoreAway:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
                continue
            try:
                return action(session)
            except psycopg.Error as error:
                if not is_lost(session, error):
                    raise in_our_words(error, doing, self.place) from None
                if deadline and time.monotonic() > deadline:
                    raise in_our_words(error, doing, self.place) from None
                deadline = deadline or time.monotonic() + PATIENCE_SECONDS
                if error.sqlstate is None or error.sqlstate[:2] != "40":
                    session.close()
