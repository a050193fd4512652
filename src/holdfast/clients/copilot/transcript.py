"""Copilot CLI: one event a line, `{"type", "data", "id", "timestamp", "parentId"}`, only appended.

The package has a schema of all events. What a tool did stands at its start and at its end; the message
that asked for it repeats the start. Events of a subagent name it in `agentId`.
"""

from __future__ import annotations

from holdfast.clients.conversation import (
    LONGEST_OUTPUT,
    LONGEST_TEXT,
    SessionEvent,
    note_place,
    recall,
    remember,
    shorten,
    skim_decoded,
    task_of,
    words_of_the_person,
)
from holdfast.clients.copilot.sessions import is_of_subagent
from holdfast.clients.tool_calls import call_event, edit_event, result_event
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.patterns import MULTILINE, compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.clients.conversation import Change, Kind, ReaderState, Task

    Reader = Callable[[dict[str, Any], str, ReaderState, list[SessionEvent]], None]

READ_WHOLE = 6 << 20
_TYPE = compile_later(rb'^\{"type":"([a-z_.A-Z]{1,60})"')
_SHELL_END = compile_later(r"\n?<shellId: \S+ completed with exit code -?\d+>\s*\Z")
_TODO = compile_later(r"^\s*[-*] \[([ xX>~-])\] (.+)$", MULTILINE)
_TODO_STATES = {" ": "pending", "x": "completed", "X": "completed", "-": "cancelled"}
_TOOLS: dict[str, Kind] = {
    **dict.fromkeys(("bash", "powershell"), "run"),
    **dict.fromkeys(("edit", "create"), "edit"),
    "view": "read",
    **dict.fromkeys(("grep", "rg", "glob"), "search"),
    "update_todo": "tasks",
    "task": "agent",
}


def _type_of(line: bytes) -> str:
    match = _TYPE.match(line)
    return match[1].decode() if match else ""


def is_telling(line: bytes) -> bool:
    kind = _type_of(line)
    return kind in _READERS if kind else bool(line.strip())


def is_quiet(line: bytes) -> bool:
    return bool(_type_of(line)) or not line.strip()


def peek(line: bytes, state: ReaderState, events: list[SessionEvent]) -> bool:
    return False  # an event that is told is needed whole


def skim(line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
    """Read a line of a long session: only what matters for the whole of it."""
    if is_telling(line):
        skim_decoded(parse, line, state, events)


def parse(record: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    kind, data = text_of(record.get("type")), record.get("data")
    if not kind or not isinstance(data, dict):
        state["unknown"] += 1
        return
    reader = _READERS.get(kind)
    if reader is not None and not is_of_subagent(record):
        reader(data, text_of(record.get("timestamp")), state, events)


def _place(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    cwd = text_of(table_of(data.get("context")).get("cwd")) or text_of(data.get("cwd"))
    note_place(cwd, at, state, events)


def _asked(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    # What a stop hook, a skill or the autopilot puts in says where it comes from.
    if text_of(data.get("source")) not in ("", "user") or data.get("isAutopilotContinuation"):
        return
    words = words_of_the_person(shorten(text_of(data.get("content")), LONGEST_TEXT))
    if words:
        events.append(SessionEvent("prompt", at=at, text=words))


def _said(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    text = shorten(text_of(data.get("content")), LONGEST_TEXT).strip()
    if text:
        events.append(SessionEvent("said", at=at, text=text))


def _called(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    id, tool = text_of(data.get("toolCallId")), text_of(data.get("toolName"))
    args = table_of(data.get("arguments"))
    remember(state, id, tool, text_of(args.get("question")))
    events.append(_call(tool, args, id, at))


def _call(tool: str, args: dict[str, Any], id: str, at: str) -> SessionEvent:
    kind = _TOOLS.get(tool, "call")
    if kind == "edit":
        change: Change = "created" if tool == "create" else "edited"
        return edit_event(args, id=id, at=at, change=change)
    if kind == "tasks":
        return SessionEvent("tasks", at=at, id=id, tasks=_todos(text_of(args.get("todos"))))
    return call_event(kind, tool, args, id=id, at=at)


def _todos(written: str) -> list[Task]:
    found = _TODO.findall(written)[:200]
    return [
        task_of(place, text, _TODO_STATES.get(mark, "in_progress"))
        for place, (mark, text) in enumerate(found, 1)
    ]


def _ended(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    id = text_of(data.get("toolCallId"))
    tool, question = [*recall(state, id), "", ""][:2]
    text = text_of(table_of(data.get("result")).get("content"))
    text = text or text_of(table_of(data.get("error")).get("message"))
    success = data.get("success")
    code = table_of(data.get("shellExecution")).get("exitCode")
    failed = (not success or bool(code)) if isinstance(success, bool) else None
    text = _SHELL_END.sub("", text).strip()
    text = shorten(text, LONGEST_OUTPUT)
    events.append(result_event(id, at=at, text=text, failed=failed))
    if tool == "task":
        events.append(SessionEvent("agent_end", at=at, id=id))
    elif tool == "ask_user" and text and not failed:
        events.append(SessionEvent("answer", at=at, text=text, about=question))


def _compacted(
    data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    if data.get("success") is False:
        return
    events.append(SessionEvent("compact", at=at))
    summary = shorten(text_of(data.get("summaryContent")), LONGEST_TEXT)
    if summary:
        events.append(SessionEvent("summary", at=at, text=summary))


def _planned(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    plan = text_of(data.get("planContent")) or text_of(data.get("summary"))
    if plan:
        id = text_of(data.get("requestId"))
        events.append(SessionEvent("plan", at=at, id=id, text=shorten(plan, LONGEST_TEXT)))


_READERS: dict[str, Reader] = {
    "session.start": _place,
    "session.resume": _place,
    "session.context_changed": _place,
    "user.message": _asked,
    "assistant.message": _said,
    "tool.execution_start": _called,
    "tool.execution_complete": _ended,
    "session.compaction_complete": _compacted,
    "exit_plan_mode.requested": _planned,
}
