"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`.

A subagent has a rollout of its own, whose first line names the session that it belongs to.

Tokens stand in usage records, or in older versions in a count after each answer.
"""

from __future__ import annotations

import os
from itertools import islice

from holdfast.clients.discovery import found_session, newest_first, paths_matching, source_of
from holdfast.clients.lines import (
    FIRST_BYTES,
    MOST_BYTES,
    cwd_in,
    first_record,
    json_text,
    object_in,
    read_piece,
)
from holdfast.clients.table import home_of
from holdfast.clients.usage.model import (
    count,
    money,
    new_context,
    new_limit,
    new_message,
    new_quota,
)
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Found, Source, UsageLimit

_OLD_CWD = compile_later(rb"<cwd>([^<\\]{1,4096})</cwd>")
# So many of the newest rollouts are looked at for one session's.
LOOK_BACK = 200
_LINES = frozenset(("session_meta", "turn_context", "response_item", "event_msg", "compacted"))


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    """Sorted by the day that they began on; a session that was taken up again is newer than that."""
    for modified, path in newest_first(_rollouts()):
        head = read_piece(path, FIRST_BYTES)
        cwd = cwd_in(head)
        if cwd and not place.holds(cwd):
            continue
        began = _head_of_session(path, head)
        cwd = text_of(began.get("cwd"))
        if cwd and place.holds(cwd) and not _is_subagent(began):
            session = text_of(began.get("id")) or os.path.basename(path)[-42:-6]
            yield found_session("codex", session, path, modified, cwd)


def _rollouts() -> Iterator[str]:
    """The newest first, by the date in their folders and names."""
    pattern = "sessions/*/*/*/rollout-*.jsonl"
    return paths_matching(home_of("codex"), pattern, last_first=True)


def find(session: str) -> list[Source]:
    """The subagents' rollouts are all younger than the session's own."""
    sources: list[Source] = []
    for path in islice(_rollouts(), LOOK_BACK):
        is_own = path.endswith(f"-{session}.jsonl")
        began = table_of(first_record(path).get("payload"))
        if is_own or _session_of(began) == session:
            agent = "" if is_own else text_of(began.get("id"))
            sources.append(source_of("codex", session, path, agent))
        if is_own:
            break
    return sorted(sources, key=lambda source: (source["agent"], source["path"]))


def of_path(path: str) -> list[Source]:
    began = table_of(first_record(path).get("payload"))
    session = _session_of(began) or os.path.basename(path)[-42:-6]
    found = find(session)
    if not any(source["path"] == path for source in found):
        found.insert(0, source_of("codex", session, path))
    return found


def _session_of(began: dict[str, Any]) -> str:
    return text_of(began.get("session_id")) or text_of(began.get("id"))


def _head_of_session(path: str, head: bytes) -> dict[str, Any]:
    """What a rollout says of itself in its first line; older ones name the folder further below."""
    if b"\n" not in head:
        head = read_piece(path, MOST_BYTES)
    line = head.partition(b"\n")[0]
    record = object_in(line)
    began = table_of(record.get("payload")) or record
    if not text_of(began.get("cwd")):
        head = read_piece(path, 16 * FIRST_BYTES)
        old = _OLD_CWD.search(head)
        began = {**began, "cwd": json_text(old[1]) if old else cwd_in(head)}
    return began


def _is_subagent(began: dict[str, Any]) -> bool:
    parent = text_of(began.get("session_id"))
    source = table_of(began.get("source"))
    return "subagent" in source or bool(parent and parent != began.get("id"))


def is_writer(record: dict[str, Any]) -> bool:
    if isinstance(record.get("payload"), dict) and text_of(record.get("type")) in _LINES:
        return True
    return "instructions" in record and "git" in record and bool(text_of(record.get("id")))


def session_at(path: str, modified: int) -> FoundSession:
    began = _head_of_session(path, read_piece(path, MOST_BYTES))
    session = text_of(began.get("id")) or os.path.basename(path).rpartition(".")[0][-36:]
    return found_session("codex", session, path, modified, text_of(began.get("cwd")))


def is_head(head: bytes) -> bool:
    """Whether a file begins with a first line of Codex that is longer than what was read."""
    return b'"type":"session_meta"' in head[:200]


# What the lines say of spending

TELLING = tuple(
    f'"{kind}"'.encode()
    for kind in ("session_meta", "turn_context", "token_usage_record", "token_count", "error")
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
    answer = new_message(id, at, state.get("model", ""), provider=state.get("provider", ""))
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
