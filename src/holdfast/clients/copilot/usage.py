"""Copilot CLI: `session.usage_record` in a session's events, one for each answer of a model.

`cost` there counts premium requests, which are no money: the price comes from our own list.
"""

from __future__ import annotations

from holdfast.clients.copilot.sessions import is_of_subagent
from holdfast.clients.usage.model import count, message, new_context, new_limit
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.usage.model import Found, Source, UsageLimit

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
    answer = message(id, at, text_of(usage.get("model")))
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
    """The usage limit that a line tells of; False for a line that goes on with the work, None for one
    that says nothing of it."""
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
