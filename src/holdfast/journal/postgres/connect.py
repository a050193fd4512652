"""The connections of one process to one database: what every session is told first, the schema brought up to
date, and what is done when a connection dies."""

from __future__ import annotations

import logging
import os
import time
from _thread import get_ident
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.journal.postgres.errors import (
    PATIENCE_SECONDS,
    in_our_words,
    is_lost,
    is_passing,
    refused_connection,
)
from holdfast.journal.postgres.url import without_password
from holdfast.kernel import clock
from holdfast.kernel.clock import Anchor
from holdfast.kernel.errors import HoldfastError, NotAllowed, StoreAway, Usage

Done = TypeVar("Done")

FORMAT = 3
MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
# Seconds without an answer after which a server counts as away, though its machine still answers.
ANSWER_SECONDS = 60.0
# A network that swallows everything is noticed after half a minute.
_NETWORK = {
    "connect_timeout": 10,
    "application_name": "holdfast",
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# A client that vanished in the middle of a transaction lets go of the workspace's row before those
# who wait for it lose their patience; from a machine that is cut off, two or three vanish at once.
# The server counts a transaction as idle only between whole requests. Where a request was cut in two,
# or the server still waits to send its answer, the TCP settings end the session after 10 seconds; they
# are those of the server's end of the connection.
_CLUSTER = "(SELECT system_identifier FROM pg_control_system())"
_GREETING = f"""SELECT
 set_config('idle_in_transaction_session_timeout', '5s', false),
 set_config('tcp_keepalives_idle', '5', false),
 set_config('tcp_keepalives_interval', '2', false),
 set_config('tcp_keepalives_count', '3', false),
 set_config('tcp_user_timeout', '10s', false),
 set_config('lock_timeout', '20s', false),
 set_config('default_transaction_isolation', 'read committed', false),
 set_config('search_path', 'pg_catalog', false),
 CASE WHEN current_setting('synchronous_commit') = 'off'
  THEN set_config('synchronous_commit', 'on', false) END,
 (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
 CASE WHEN pg_is_in_recovery() THEN '' ELSE
  {_CLUSTER} || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,
 current_setting('server_encoding'), to_regclass('holdfast.format') IS NOT NULL"""
_MIGRATION_LOCK = 0x486F6C64  # "Hold"


# What psycopg would say of a dying connection on a program's standard error, we say ourselves.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class ServerSession(psycopg.Connection):
    """A connection that does not wait for ever for a server that has stopped thinking. `anchor` is what
    the server's clock said when it was made, and `epoch` which server it is: its cluster and timeline, which changes
    when a copy takes over. Empty for a copy that follows another."""

    anchor: clock.Anchor
    epoch: str

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        start = time.monotonic()
        try:
            return super().wait(gen, interval, ANSWER_SECONDS)
        except psycopg.OperationalError as error:
            if time.monotonic() - start < ANSWER_SECONDS:
                raise
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer for {ANSWER_SECONDS:.0f} s") from error

    def __del__(self, __warn: Any = None) -> None:
        # psycopg warns here of a connection that is still open. `Sessions` closes its own, but in a cycle of
        # garbage this may go first. The handle of libpq ends it, in the process that made it.
        return


def connect(url: str) -> ServerSession:
    """A session on a database whose schema this holdfast knows."""
    given = _read(url)
    settings = {key: value for key, value in _NETWORK.items() if key not in given}
    session = _dial(url, settings)
    try:
        _greet(session, without_password(url))
    except psycopg.Error as error:
        session.close()
        raise in_our_words(error, "opening the journal", without_password(url)) from None
    except BaseException:
        session.close()
        raise
    return session


def _read(url: str) -> dict[str, Any]:
    """What a URL says. libpq's own complaints quote what they do not understand, and where a sign in
    a password was not escaped, that is a part of it."""
    try:
        given: dict[str, Any] = {**conninfo_to_dict(url)}
    except psycopg.ProgrammingError:
        given = {"host": "@"}
    host, port, database = (str(given.get(name) or "") for name in ("host", "port", "dbname"))
    if "@" in host + database or not (port.replace(",", "") or "0").isdigit():
        raise Usage(
            f"The journal's URL cannot be read: {without_password(url)}.",
            hint="It is postgresql://USER@HOST:PORT/DATABASE; in a password, @ is %40, / is %2F, "
            "% is %25.",
            kind="bad_url",
        )
    return given


def _dial(url: str, settings: dict[str, Any]) -> ServerSession:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return ServerSession.connect(url, autocommit=True, client_encoding="utf8", **settings)
        except psycopg.Error as error:
            if not is_passing(error) or time.monotonic() > deadline:
                raise refused_connection(error, without_password(url)) from None
            time.sleep(0.05)


def _greet(session: ServerSession, place: str) -> None:
    asked = clock.since_boot()
    try:
        row: Any = session.execute(_GREETING).fetchone()
    except psycopg.errors.InsufficientPrivilege:  # a provider may hide the number of the cluster
        row = session.execute(_GREETING.replace(_CLUSTER, "''")).fetchone()
    *_, instant, session.epoch, encoding, exists = row
    # Half way between question and answer: wrong by no more than half of what the way takes.
    session.anchor = clock.Anchor(instant, (asked + clock.since_boot()) // 2)
    if encoding != "UTF8":
        raise HoldfastError(
            f"{place} stores text as {encoding}.",
            hint="Create the database with ENCODING 'UTF8'.",
            kind="bad_encoding",
        )
    number, oldest = _format(session) if exists else (0, 0)
    if number < FORMAT:
        try:
            number, oldest = migrate(session, FORMAT, MIGRATIONS)
        except psycopg.errors.InsufficientPrivilege:
            raise NotAllowed(
                f"The journal at {place} has format {number}, and this role may not bring it to {FORMAT}.",
                hint="Let its owner run `holdfast status` once.",
                kind="no_right",
            ) from None
    if oldest > FORMAT:
        raise HoldfastError(
            f"The journal has format {number}; this holdfast knows formats up to {FORMAT}.",
            hint="Install the newer holdfast that is in use there. Nothing was changed.",
            kind="newer_format",
        )


def _format(session: ServerSession) -> tuple[int, int]:
    row: Any = session.execute("SELECT number, oldest FROM holdfast.format").fetchone()
    return row[0], row[1]


def migrate(session: ServerSession, target: int, folder: str) -> tuple[int, int]:
    """Bring the schema to `target`, one at a time; the format, and the oldest that still works.

    A migration adds: the holdfast before it goes on beside the new one. `-- oldest: N` on its first
    line says from which format on; raised by a later one, once no process uses the old format any more.
    """
    with session.transaction():
        session.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        # Not to_regclass, which may remember from before the lock that there was none.
        tables: Any = session.execute(
            "SELECT n.nspname, c.relname FROM pg_namespace n LEFT JOIN pg_class c"
            " ON c.relnamespace = n.oid AND c.relname = 'format' WHERE n.nspname = 'holdfast'"
        ).fetchone()
        if tables is None:
            session.execute("CREATE SCHEMA holdfast")
        if tables is None or tables[1] is None:
            session.execute(
                "CREATE TABLE holdfast.format (number integer NOT NULL, oldest integer NOT NULL)"
            )
            session.execute("INSERT INTO holdfast.format VALUES (0, 0)")
        current, _ = _format(session)
        for number, oldest, script in _scripts(folder):
            if current < number <= target:
                session.execute(script)
                session.execute(
                    "UPDATE holdfast.format SET number = %s, oldest = %s", (number, oldest)
                )
        return _format(session)


def _scripts(folder: str) -> Iterator[tuple[int, int, bytes]]:
    for name in sorted(os.listdir(folder)):
        if name.endswith(".sql"):
            with open(os.path.join(folder, name), "rb") as file:
                script = file.read()
            first = script.partition(b"\n")[0]
            yield int(name.partition("_")[0]), int(first.removeprefix(b"-- oldest: ")), script


class Sessions:
    """A connection for each thread of each process. `place` is the URL as people may see it."""

    def __init__(self, url: str, heard: Callable[[Anchor], None] | None = None) -> None:
        """`heard` is told the server's time at every connection."""
        self._thread: Callable[[], int] = get_ident
        self._sessions: dict[tuple[int, int], ServerSession] = {}
        self._heard = heard
        self.url = url
        self.place = without_password(url)

    def present(self) -> ServerSession | None:
        """This thread's connection, if it has one that works."""
        # A forked child must not touch its parent's connection, so the key holds the process too.
        session = self._sessions.get((os.getpid(), self._thread()))
        return None if session is None or session.closed else session

    def session(self) -> ServerSession:
        """This thread's connection, made on first use."""
        session = self.present()
        if session is None:
            session = self._sessions[os.getpid(), self._thread()] = connect(self.url)
            if self._heard is not None:
                self._heard(session.anchor)
        return session

    def share(self) -> None:
        self._thread = int

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
