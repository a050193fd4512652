"""Codex: usage records, or in older versions a count of tokens after each answer."""

from __future__ import annotations

from holdfast.clients.usage.model import (
    count,
    message,
    money,
    new_context,
    new_limit,
    new_quota,
)
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.usage.model import Found, Source, UsageLimit

TELLING = (
    *(b'"session_meta"', b'"turn_context"', b'"token_usage_record"', b'"token_count"'),
    b'"error"',
)


def glance(line: bytes, state: dict[str, Any], found: Found) -> None:
    if b'"payload":' in line:
        found.known += 1


def parse(record: dict[str, Any], source: Source, state: dict[str, Any], found: Found) -> None:
    """One line. Cached tokens are part of `input_tokens`, reasoning of `output_tokens`."""
    payload = table_of(record.get("payload"))
    kind, at = record.get("type"), text_of(record.get("timestamp"))
    if payload:
        found.known += 1
    if at and not found.started_at:
        found.started_at = text_of(payload.get("timestamp")) or at
    if kind == "session_meta":
        state["provider"] = text_of(payload.get("model_provider"))
    elif kind == "turn_context" and text_of(payload.get("model")):
        state["model"] = payload["model"]
    elif kind == "token_usage_record":
        state["records"] = True
        id = text_of(payload.get("response_id")) or f"{payload.get('turn_id')}/{at}"
        _answer(id, at, table_of(payload.get("usage")), state, found)
    elif kind == "event_msg" and payload.get("type") == "token_count":
        _token_count(table_of(payload.get("info")), at, source, state, found)
        _note_quotas(table_of(payload.get("rate_limits")), at, found)
    elif kind == "event_msg" and payload.get("type") == "error":
        found.errors[f"{source['agent']}/{at}"] = text_of(payload.get("message")) or "error"


def _answer(id: str, at: str, usage: dict[str, Any], state: dict[str, Any], found: Found) -> None:
    answer = message(id, at, state.get("model", ""), provider=state.get("provider", ""))
    found.messages[id] = answer
    cached = count(usage.get("cached_input_tokens"))
    written = count(usage.get("cache_write_input_tokens"))
    answer["input"] = max(0, count(usage.get("input_tokens")) - cached - written)
    answer["output"] = count(usage.get("output_tokens"))
    answer["cache_read"] = cached
    answer["cache_write"] = written
    answer["counted"] = bool(usage)


def _token_count(
    info: dict[str, Any], at: str, source: Source, state: dict[str, Any], found: Found
) -> None:
    last, total = table_of(info.get("last_token_usage")), table_of(info.get("total_token_usage"))
    if last and not source["agent"]:
        found.context = new_context(
            at,
            count(last.get("total_tokens")),
            state.get("model", ""),
            provider=state.get("provider", ""),
            window=count(info.get("model_context_window")),
        )
    # Before there were usage records, a count whose total has grown was one answer.
    if not state.get("records") and count(total.get("total_tokens")) > state.get("total", 0):
        state["total"] = count(total.get("total_tokens"))
        _answer(f"total-{source['agent']}-{state['total']}", at, last, state, found)


def _note_quotas(told: dict[str, Any], at: str, found: Found) -> None:
    quotas = [
        new_quota(
            count(window.get("window_minutes")), percent, count(window.get("resets_at")) * 1000
        )
        for window in (table_of(told.get("primary")), table_of(told.get("secondary")))
        if (percent := money(window.get("used_percent"))) is not None
    ]
    if quotas:
        found.quotas = {"at": at, "quotas": quotas}


# A turn that goes on, in the types of a rollout's lines.
_WORK = ("task_started", "user_message", "agent_message")


def limit_of(record: dict[str, Any]) -> UsageLimit | bool | None:
    """The usage limit that a line tells of; False for a line that goes on with the work, None for one
    that says nothing of it."""
    payload = table_of(record.get("payload"))
    if record.get("type") == "response_item":
        return False
    if record.get("type") != "event_msg" or not payload:
        return None
    if payload.get("type") in _WORK:
        return False
    if payload.get("type") not in ("task_complete", "error"):
        return None
    error = table_of(payload.get("error")) or payload
    if error.get("codex_error_info") != "usage_limit_exceeded":
        return False
    return new_limit(text_of(error.get("message")), text_of(record.get("timestamp")))


def reset_of(record: dict[str, Any]) -> int:
    """When the window that is used up begins anew, in milliseconds; 0 where a line says nothing of it."""
    windows = table_of(table_of(record.get("payload")).get("rate_limits"))
    full = [
        count(window.get("resets_at")) * 1000
        for window in (table_of(windows.get("primary")), table_of(windows.get("secondary")))
        if (money(window.get("used_percent")) or 0) >= 100
    ]
    return max(full, default=0)
