"""Codex: `$CODEX_HOME/sessions/<year>/<month>/<day>/rollout-<time>-<thread>.jsonl`.

A subagent has a rollout of its own, whose first line names the session that it belongs to.
"""

from __future__ import annotations

import os

from holdfast.clients.lines import first_record
from holdfast.clients.table import home_of
from holdfast.clients.usage.model import count, message, money, new_limit, new_quota
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.usage.model import Found, Source, UsageLimit

CLIENT = "codex"
_TELLING = (
    *(b'"session_meta"', b'"turn_context"', b'"token_usage_record"', b'"token_count"'),
    b'"error"',
)
# So many of the newest rollouts are looked at for one of this folder, or of this session.
LOOK_BACK = 200


def newest(root: str) -> list[Source]:
    """The newest rollout that began in this folder, with its subagents."""
    newest: tuple[int, str] | None = None
    for path in _rollouts():
        began = began_with(path)
        if text_of(began.get("cwd")) == root and not _is_subagent(began):
            changed = os.stat(path).st_mtime_ns
            if newest is None or changed > newest[0]:
                newest = (changed, session_of(began))
    return find(newest[1]) if newest else []


def find(session: str) -> list[Source]:
    """The rollouts of one session: its own, and those of its subagents, which are all younger."""
    sources: list[Source] = []
    for path in _rollouts():
        own = os.path.basename(path).endswith(f"-{session}.jsonl")
        began = began_with(path)
        if own or session_of(began) == session:
            agent = "" if own else text_of(began.get("id"))
            sources.append({"client": CLIENT, "session": session, "path": path, "agent": agent})
        if own:
            break
    return sorted(sources, key=lambda source: (source["agent"], source["path"]))


def is_own(path: str) -> bool:
    """Whether a file is called as this client calls its transcripts."""
    return os.path.basename(path).startswith("rollout-")


def of_path(path: str) -> list[Source]:
    """The session that a rollout belongs to."""
    session = session_of(began_with(path)) or os.path.basename(path)[-42:-6]
    found = find(session)
    if not any(source["path"] == path for source in found):
        found.insert(0, {"client": CLIENT, "session": session, "path": path, "agent": ""})
    return found


def session_of(began: dict[str, Any]) -> str:
    return text_of(began.get("session_id")) or text_of(began.get("id"))


def _is_subagent(began: dict[str, Any]) -> bool:
    return bool(began.get("session_id")) and began.get("session_id") != began.get("id")


def _rollouts() -> Iterator[str]:
    """The newest first, by the date in their folders and names."""
    given = 0
    for year in _names(os.path.join(home_of(CLIENT), "sessions")):
        for month in _names(year):
            for day in _names(month):
                for path in _names(day):
                    name = os.path.basename(path)
                    if name.startswith("rollout-") and name.endswith(".jsonl"):
                        yield path
                        given += 1
                        if given >= LOOK_BACK:
                            return


def _names(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder), reverse=True)]
    except OSError:
        return []


def began_with(path: str) -> dict[str, Any]:
    """What a rollout says of itself; empty when it cannot be read."""
    return table_of(first_record(path).get("payload"))


def is_telling(line: bytes) -> bool:
    return any(word in line for word in _TELLING)


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
        found.context = {
            "at": at,
            "tokens": count(last.get("total_tokens")),
            "window": count(info.get("model_context_window")),
            "model": state.get("model", ""),
            "provider": state.get("provider", ""),
        }
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
