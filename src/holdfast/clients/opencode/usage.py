"""opencode: the tables `session` and `message` of `~/.local/share/opencode/opencode.db`.

The database is opened read-only and through SQLite alone: closing a file of a database that this
process has open any other way drops SQLite's locks on it.
"""

from __future__ import annotations

import os

import apsw

from holdfast.clients.lines import Unread
from holdfast.clients.usage.model import count, message, money
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.clients.usage.model import Found, Source

CLIENT = "opencode"
BUSY_MILLISECONDS = 2000
# A person's own interruption is no failure.
ABORTED = "MessageAbortedError"
_FAMILY = (
    "WITH RECURSIVE family(id) AS (SELECT id FROM session WHERE id = ? UNION "
    "SELECT session.id FROM session JOIN family ON session.parent_id = family.id) "
)


def database() -> str:
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(data, "opencode", "opencode.db")


def newest(root: str) -> list[Source]:
    """The session in this folder that was at work last."""
    rows = _ask(
        "SELECT id FROM session WHERE directory = ? AND parent_id IS NULL "
        "ORDER BY time_updated DESC LIMIT 1",
        (root,),
    )
    return _source(rows[0][0]) if rows else []


def is_own(path: str) -> bool:
    """Whether a file is called as this client calls its transcripts."""
    return False  # its sessions are in a database


def find(session: str) -> list[Source]:
    rows = _ask("SELECT id FROM session WHERE id = ?", (session,))
    return _source(session) if rows else []


def changed(source: Source) -> int:
    """When a session, or one that it started, was written to last, in milliseconds."""
    rows = rows_of(
        source["path"],
        _FAMILY + "SELECT max(time_updated) FROM session JOIN family USING (id)",
        (source["session"],),
    )
    if rows[0][0] is None:
        raise Unread("is gone")
    return count(rows[0][0])


def _source(session: str) -> list[Source]:
    return [{"client": CLIENT, "session": session, "path": database(), "agent": ""}]


def _ask(sql: str, values: Sequence[Any]) -> list[Any]:
    try:
        return rows_of(database(), sql, values)
    except Unread:
        return []


def rows_of(path: str, sql: str, values: Sequence[Any]) -> list[Any]:
    """The answer to one question; `Unread` when the database is away, busy or another's."""
    if not os.path.exists(path):
        raise Unread("is gone")
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            return connection.execute(sql, tuple(values)).fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        raise Unread(f"cannot be read: {error}") from error


def read(source: Source, state: dict[str, Any], found: Found) -> None:
    """What was said since the last look, of this session and those that it started.

    A message changes until it is complete, so the next look begins at the oldest that was not.
    """
    rows = rows_of(
        source["path"],
        _FAMILY + "SELECT message.session_id, message.id, message.time_created, message.data "
        "FROM message JOIN family ON message.session_id = family.id "
        "WHERE message.time_created >= ? ORDER BY message.time_created, message.id",
        (source["session"], state.get("from", 0)),
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
    answer = message(id, at, text_of(said.get("modelID")), provider=text_of(said.get("providerID")))
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
        found.context = {
            "at": at,
            "tokens": count(tokens.get("total")) or used,
            "window": 0,
            "model": answer["model"],
            "provider": answer["provider"],
        }
    return complete
