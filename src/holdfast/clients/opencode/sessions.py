"""opencode: all sessions in one database. Those from before 1.2 are there, too: opencode takes them over.

The database is opened through SQLite alone: closing a file of a database that this process has open any
other way drops SQLite's locks on it.

What a session spent includes the sessions that it started.
"""

from __future__ import annotations

import os
from stat import S_ISREG

import apsw

from holdfast.clients.discovery import MOST_FILES, found_session, source_of
from holdfast.clients.lines import Unread
from holdfast.clients.table import home_of
from holdfast.clients.usage.model import count, money, new_context, new_message
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.plain_file import list_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Found, Source

BUSY_MILLISECONDS = 2000


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    found = [session for path in databases() for session in _in_database(path, place)]
    yield from sorted(found, key=lambda one: one["modified"], reverse=True)


def _in_database(path: str, place: SessionPlace | None) -> Iterator[FoundSession]:
    """The sessions of a database, without those that another session started."""
    try:
        with Store(path) as store:
            rows = store.ask(
                "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL "
                "ORDER BY time_updated DESC, id DESC LIMIT ?",
                (MOST_FILES,),
            )
    except Unread:
        return
    for id, cwd, updated in rows:
        is_sound = isinstance(id, str) and isinstance(cwd, str) and isinstance(updated, int)
        if is_sound and (place is None or place.holds(cwd)):
            yield found_session("opencode", id, path, updated, cwd)


def find(session: str) -> list[Source]:
    """One that another session started is part of that one."""
    for path in databases():
        try:
            with Store(path) as store:
                if store.ask("SELECT id FROM session WHERE id = ?", (session,)):
                    return [source_of("opencode", session, path)]
        except Unread:
            continue
    return []


def is_writer(record: dict[str, Any]) -> bool:
    """No line is: it keeps its sessions in a database."""
    return False


def session_at(path: str, modified: int) -> FoundSession | None:
    """The newest session in a database."""
    return next(_in_database(path, None), None)


# The database


def databases() -> list[str]:
    """Where opencode keeps its sessions; one file for each channel of releases."""
    named = os.environ.get("OPENCODE_DB", "")
    folder = home_of("opencode")
    if named and named != ":memory:":
        return [os.path.join(folder, named)]
    return [
        os.path.join(folder, name)
        for name in list_names(folder)
        if name == "opencode.db" or (name.startswith("opencode-") and name.endswith(".db"))
    ]


class Store:
    """A database to put questions to, which is only read: no lock hinders the client, and no file beside
    it is made. `Unread` when it is away, busy or another's.

    A database without a log beside it is read as a file that does not change: to open it in any other
    way would make the log. With one, SQLite reads both, and the client can go on writing. Where the
    log cannot be opened, the file alone is read: what is in it is true, though not the newest.
    """

    def __init__(self, path: str) -> None:
        _need_file(path)
        self._address = f"file:{_quoted(os.path.abspath(path))}?mode=ro"
        self._has_log = _has_log(path)
        self._connection: apsw.Connection | None = None

    def __enter__(self) -> Store:
        ways = ("", "&immutable=1") if self._has_log else ("&immutable=1",)
        problem: apsw.Error | None = None
        for way in ways:
            try:
                self._connect(self._address + way)
                return self
            except apsw.Error as error:
                self.__exit__()
                problem = error
        raise Unread(f"cannot be read: {problem}")

    def _connect(self, address: str) -> None:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        self._connection = apsw.Connection(address, flags=flags)
        self._connection.set_busy_timeout(BUSY_MILLISECONDS)
        # A transaction: all answers are of one moment.
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT count(*) FROM sqlite_master").fetchall()

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close(True)
            self._connection = None

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        assert self._connection is not None
        try:
            return self._connection.execute(sql, tuple(values)).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise Unread(f"cannot be read: {error}") from error


def _quoted(path: str) -> str:
    """A path as a URL holds it; by hand, because `urllib` is dear for a session's start."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~/"
    return "".join(chr(one) if one in plain else f"%{one:02X}" for one in os.fsencode(path))


def _need_file(path: str) -> None:
    """SQLite would wait for a pipe to be written to."""
    try:
        if not S_ISREG(os.stat(path).st_mode):
            raise Unread("is no file")
    except OSError as error:
        raise Unread(error.strerror or "unreadable") from error


def _has_log(path: str) -> bool:
    try:
        found = os.stat(f"{path}-wal")
    except OSError:
        return False
    if not S_ISREG(found.st_mode):
        raise Unread("its log is no file")
    return found.st_size > 0


# What the lines say of spending

# A person's own interruption is no failure.
ABORTED = "MessageAbortedError"
_FAMILY = (
    "WITH RECURSIVE family(id) AS (SELECT id FROM session WHERE id = ? UNION "
    "SELECT session.id FROM session JOIN family ON session.parent_id = family.id) "
)


def changed(source: Source) -> int:
    """When a session, or one that it started, was written to last, in milliseconds."""
    rows = _rows_of(source, "SELECT max(time_updated) FROM session JOIN family USING (id)")
    if rows[0][0] is None:
        raise Unread("is gone")
    return count(rows[0][0])


def _rows_of(source: Source, sql: str, *values: int) -> list[Any]:
    """What the messages and sessions of a session and those that it started say."""
    with Store(source["path"]) as store:
        return store.ask(_FAMILY + sql, (source["session"], *values))


def read(source: Source, state: dict[str, Any], found: Found) -> None:
    """What was said since the last look, of this session and those that it started.

    A message changes until it is complete, so the next look begins at the oldest that was not.
    """
    rows = _rows_of(
        source,
        "SELECT message.session_id, message.id, message.time_created, message.data "
        "FROM message JOIN family ON message.session_id = family.id "
        "WHERE message.time_created >= ? ORDER BY message.time_created, message.id",
        state.get("from", 0),
    )
    unfinished = []
    for session, id, created, data in rows:
        found.lines += 1
        try:
            said = table_of(canonical_json.loads(data))
        except (TypeError, ValueError):
            continue
        found.known += 1
        if said.get("role") == "assistant" and not _answer(
            id, session == source["session"], created, said, found
        ):
            unfinished.append(created)
        if not found.started_at and session == source["session"]:
            found.started_at = clock.precise(count(created))
    if rows:
        state["from"] = min([rows[-1][2], *unfinished])


def _answer(id: str, own: bool, created: int, said: dict[str, Any], found: Found) -> bool:
    """One answer of a model; whether it is complete.

    Cached tokens stand beside `input`, reasoning beside `output`. A cost of 0 is what opencode
    writes for a model whose price it does not know: that is no figure.
    """
    error = table_of(said.get("error"))
    if error and error.get("name") != ABORTED:
        why = text_of(table_of(error.get("data")).get("message")) or text_of(error.get("name"))
        found.errors[id] = why or "error"
    tokens, times = table_of(said.get("tokens")), table_of(said.get("time"))
    cache = table_of(tokens.get("cache"))
    complete = bool(times.get("completed")) or bool(error)
    at = clock.precise(count(created))
    answer = new_message(
        id, at, text_of(said.get("modelID")), provider=text_of(said.get("providerID"))
    )
    answer["input"] = count(tokens.get("input"))
    answer["output"] = count(tokens.get("output")) + count(tokens.get("reasoning"))
    answer["cache_read"] = count(cache.get("read"))
    answer["cache_write"] = count(cache.get("write"))
    answer["cost"] = money(said.get("cost")) or None
    answer["counted"] = bool(tokens)
    used = sum(answer[name] for name in ("input", "output", "cache_read", "cache_write"))
    if complete or used:
        found.messages[id] = answer
    if used and own:
        total = count(tokens.get("total")) or used
        found.context = new_context(at, total, answer["model"], provider=answer["provider"])
    return complete
