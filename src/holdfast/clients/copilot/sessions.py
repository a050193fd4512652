"""Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, whose first line names the folder.

Each answer of a model has a `session.usage_record`. `cost` there counts premium requests, which are no
money: the price comes from our own list.
"""

from __future__ import annotations

import os

from holdfast.clients.discovery import found_session, newest_first, paths_matching, source_of
from holdfast.clients.lines import first_record
from holdfast.clients.table import home_of
from holdfast.clients.usage.model import count, new_context, new_limit, new_message
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Found, Source, UsageLimit

FOLDER, FILE = "session-state", "events.jsonl"
FIRST = "session.start"


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    files = paths_matching(home_of("copilot"), f"{FOLDER}/*/{FILE}")
    for modified, path in newest_first(files):
        found = session_at(path, modified)
        if found["cwd"] and place.holds(found["cwd"]):
            yield found


def find(session: str) -> list[Source]:
    path = os.path.join(home_of("copilot"), FOLDER, session, FILE)
    return of_path(path) if os.path.isfile(path) else []


def of_path(path: str) -> list[Source]:
    return [source_of("copilot", os.path.basename(os.path.dirname(path)), path)]


def is_writer(record: dict[str, Any]) -> bool:
    return record.get("type") == FIRST and isinstance(record.get("data"), dict)


def session_at(path: str, modified: int) -> FoundSession:
    began = table_of(first_record(path).get("data"))
    session = text_of(began.get("sessionId")) or os.path.basename(os.path.dirname(path))
    cwd = text_of(table_of(began.get("context")).get("cwd"))
    return found_session("copilot", session, path, modified, cwd)


def is_of_subagent(record: dict[str, Any]) -> bool:
    data = table_of(record.get("data"))
    return bool(record.get("agentId") or data.get("agentId") or data.get("parentToolCallId"))


# What the lines say of spending

TELLING = (b'"session.usage_record"', b'"session.error"', b'"session.start"')


def glance(line: bytes, state: dict[str, Any], found: Found) -> None:
    if line.startswith(b'{"type":"'):
        found.known += 1


def parse(record: dict[str, Any], source: Source, state: dict[str, Any], found: Found) -> None:
    """The session's beginning, one answer, or an error."""
    found.known += 1
    kind, at = record.get("type"), text_of(record.get("timestamp"))
    data = table_of(record.get("data"))
    if kind == "session.start":
        found.started_at = text_of(data.get("startTime")) or at
    elif kind == "session.error":
        found.errors[text_of(record.get("id")) or at] = text_of(data.get("message")) or "error"
    elif kind == "session.usage_record":
        _answer(record, table_of(data.get("usage")), at, found)


def _answer(record: dict[str, Any], usage: dict[str, Any], at: str, found: Found) -> None:
    id = text_of(usage.get("apiCallId")) or text_of(record.get("id"))
    answer = new_message(id, at, text_of(usage.get("model")))
    asked = count(usage.get("inputTokens"))
    read, written = count(usage.get("cacheReadTokens")), count(usage.get("cacheWriteTokens"))
    # What came from the cache and went to it is part of the input.
    answer["input"] = max(0, asked - read - written)
    answer["output"] = count(usage.get("outputTokens"))
    answer["cache_read"], answer["cache_write"] = read, written
    answer["counted"] = True
    found.messages[answer["id"]] = answer
    if not is_of_subagent(record):
        window = count(usage.get("maxPromptTokens"))
        tokens = asked + answer["output"]
        found.context = new_context(at, tokens, answer["model"], window=window)


def limit_of(record: dict[str, Any]) -> UsageLimit | bool | None:
    kind, data = text_of(record.get("type")), table_of(record.get("data"))
    if kind in ("user.message", "assistant.message", "tool.execution_start"):
        return False
    if kind != "session.error":
        return None
    is_limit = data.get("statusCode") == 429 or text_of(data.get("errorType")) in (
        "rate_limit",
        "quota",
    )
    if not is_limit:
        return False
    return new_limit(text_of(data.get("message")), text_of(record.get("timestamp")))
