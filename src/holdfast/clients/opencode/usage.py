"""opencode: the tables `session` and `message` of its database, for a session and those that it started."""

from __future__ import annotations

from holdfast.clients.lines import Unread
from holdfast.clients.opencode.sessions import Store
from holdfast.clients.usage.model import count, message, money, new_context
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.usage.model import Found, Source

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
        total = count(tokens.get("total")) or used
        found.context = new_context(at, total, answer["model"], provider=answer["provider"])
    return complete
