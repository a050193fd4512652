"""Qwen Code: one record a line, with the parts of a message as Gemini's API has them.

The client only appends: a message once, a tool's result on a line of its own, and besides much that
its interface needs, which says nothing of the work.
"""

from __future__ import annotations

from holdfast.clients.conversation import (
    LONGEST_OUTPUT,
    SessionEvent,
    note_place,
    recall,
    remember,
    shorten,
    skim_decoded,
    text_in,
    words_of_the_person,
)
from holdfast.clients.tool_calls import call_event, edit_event, result_event
from holdfast.kernel.canonical_json import list_of, table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.conversation import Change, Kind, ReaderState

READ_WHOLE = 6 << 20
_KINDS = frozenset(("user", "assistant", "tool_result", "system"))
_QUIET = b'"type":"system"'
_COMPRESSED = b'"subtype":"chat_compression"'
_TOOLS: dict[str, Kind] = {
    "run_shell_command": "run",
    **dict.fromkeys(("edit", "write_file", "notebook_edit"), "edit"),
    "read_file": "read",
    **dict.fromkeys(("grep_search", "glob", "list_directory"), "search"),
    "todo_write": "tasks",
    **dict.fromkeys(("agent", "task"), "agent"),
    "exit_plan_mode": "plan",
}


def is_telling(line: bytes) -> bool:
    """All but what the client's interface keeps for itself."""
    return bool(line.strip()) and (_QUIET not in line[:600] or _COMPRESSED in line[:600])


def is_quiet(line: bytes) -> bool:
    return not line.strip() or _QUIET in line[:600]


def peek(line: bytes, state: ReaderState, events: list[SessionEvent]) -> bool:
    return False  # a line holds one call or one result, and both matter


def skim(line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
    """Read a line of a long session: only what matters for the whole of it."""
    if is_telling(line):
        skim_decoded(parse, line, state, events)


def parse(record: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    kind, at = text_of(record.get("type")), text_of(record.get("timestamp"))
    if kind not in _KINDS:
        state["unknown"] += 1
        return
    note_place(text_of(record.get("cwd")), at, state, events)
    parts = list_of(table_of(record.get("message")).get("parts"))
    if kind == "system":
        _compressed(table_of(record.get("systemPayload")), at, events)
    elif kind == "user":
        # The client writes in the person's name as well, and says so.
        if text_of(record.get("provenance")) in ("", "real_user"):
            words = words_of_the_person(text_in(parts))
            if words:
                events.append(SessionEvent("prompt", at=at, text=words))
    elif kind == "assistant":
        _said(parts, at, state, events)
    else:
        _ended(parts, table_of(record.get("toolCallResult")), at, state, events)


def _compressed(payload: dict[str, Any], at: str, events: list[SessionEvent]) -> None:
    history = list_of(payload.get("compressedHistory"))
    events.append(SessionEvent("compact", at=at))
    text = text_in(list_of(table_of(history[0]).get("parts"))) if history else ""
    if text:
        events.append(SessionEvent("summary", at=at, text=text))


def _said(parts: list[Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    spoken = [part for part in map(table_of, parts) if not part.get("thought")]
    text = text_in(spoken).strip()
    if text:
        events.append(SessionEvent("said", at=at, text=text))
    for part in spoken:
        call = table_of(part.get("functionCall"))
        if call:
            id, tool = text_of(call.get("id")), text_of(call.get("name"))
            remember(state, id, tool)
            events.append(_called(tool, table_of(call.get("args")), id, at))


def _called(tool: str, args: dict[str, Any], id: str, at: str) -> SessionEvent:
    kind = _TOOLS.get(tool, "call")
    if kind != "edit":
        return call_event(kind, tool, args, id=id, at=at)
    change: Change = "created" if tool == "write_file" else "edited"
    return edit_event(args, id=id, at=at, change=change)


def _ended(
    parts: list[Any],
    result: dict[str, Any],
    at: str,
    state: ReaderState,
    events: list[SessionEvent],
) -> None:
    for part in map(table_of, parts):
        answer = table_of(part.get("functionResponse"))
        id = text_of(answer.get("id")) or text_of(result.get("callId"))
        if not answer or not id:
            continue
        tool = (recall(state, id) or [text_of(answer.get("name"))])[0]
        response, shown = table_of(answer.get("response")), table_of(result.get("resultDisplay"))
        text = text_of(response.get("output")) or text_of(response.get("error"))
        # A call that the person refused or interrupted has not failed.
        failed = {"error": True, "success": False}.get(text_of(result.get("status")))
        if text_of(shown.get("type")) == "shell_result":
            code = shown.get("exitCode")
            failed = bool(code) or bool(shown.get("signal")) if code is not None else failed
            text = text_of(shown.get("output")) or text
        text = shorten(text.strip(), LONGEST_OUTPUT)
        events.append(result_event(id, at=at, text=text, failed=failed))
        if _TOOLS.get(tool) == "agent":
            events.append(SessionEvent("agent_end", at=at, id=id))
