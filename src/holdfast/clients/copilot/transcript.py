"""Copilot CLI: one event a line, `{"type", "data", "id", "timestamp", "parentId"}`, only appended.

The package has a schema of all events. What a tool did stands at its start and at its end; the message
that asked for it repeats the start. Events of a subagent name it in `agentId`.
"""

from __future__ import annotations

from holdfast.clients.conversation import (
    LONGEST_OUTPUT,
    LONGEST_TEXT,
    SessionEvent,
    decode,
    keep_lasting,
    recall,
    remember,
    replacement_of,
    shortened,
    task_of,
    words_of_the_person,
)
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.patterns import MULTILINE, compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.clients.conversation import Change, ReaderState, Task

    Reader = Callable[[dict[str, Any], str, ReaderState, list[SessionEvent]], None]

READ_WHOLE = 6 << 20
_TYPE = compile_later(rb'^\{"type":"([a-z_.A-Z]{1,60})"')
_SHELL_END = compile_later(r"\n?<shellId: \S+ completed with exit code -?\d+>\s*\Z")
_TODO = compile_later(r"^\s*[-*] \[([ xX>~-])\] (.+)$", MULTILINE)
_TODO_STATES = {" ": "pending", "x": "completed", "X": "completed", "-": "cancelled"}
_SEARCHES = frozenset(("grep", "rg", "glob"))


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
    if not is_telling(line):
        return
    found: list[SessionEvent] = []
    for record in decode(line):
        parse(record, state, found)
    keep_lasting(found, events)


def parse(record: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    kind, data = text_of(record.get("type")), record.get("data")
    if not kind or not isinstance(data, dict):
        state["unknown"] += 1
        return
    reader = _READERS.get(kind)
    if reader is not None and not is_of_subagent(record):
        reader(data, text_of(record.get("timestamp")), state, events)


def is_of_subagent(record: dict[str, Any]) -> bool:
    data = table_of(record.get("data"))
    return bool(record.get("agentId") or data.get("agentId") or data.get("parentToolCallId"))


def _place(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    cwd = text_of(table_of(data.get("context")).get("cwd")) or text_of(data.get("cwd"))
    if cwd and state.get("cwd") != cwd:
        state["cwd"] = cwd
        events.append(SessionEvent("place", at=at, path=cwd))


def _asked(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    # What a stop hook, a skill or the autopilot puts in says where it comes from.
    if text_of(data.get("source")) not in ("", "user") or data.get("isAutopilotContinuation"):
        return
    words = words_of_the_person(shortened(text_of(data.get("content")), LONGEST_TEXT))
    if words:
        events.append(SessionEvent("prompt", at=at, text=words))


def _said(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    text = shortened(text_of(data.get("content")), LONGEST_TEXT).strip()
    if text:
        events.append(SessionEvent("said", at=at, text=text))


def _called(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    id, tool = text_of(data.get("toolCallId")), text_of(data.get("toolName"))
    args = table_of(data.get("arguments"))
    remember(state, id, tool, text_of(args.get("question")))
    events.append(_call(tool, args, id, at))


def _call(tool: str, args: dict[str, Any], id: str, at: str) -> SessionEvent:
    import json

    path = text_of(args.get("path")) or text_of(args.get("file_path"))
    if tool in ("bash", "powershell"):
        return SessionEvent("run", at=at, id=id, text=text_of(args.get("command")))
    if tool in ("edit", "create"):
        old = text_of(args.get("old_str"))
        new = text_of(args.get("new_str")) or text_of(args.get("file_text"))
        text = shortened(f"{old}\n{new}" if old else new, LONGEST_TEXT)
        change: Change = "created" if tool == "create" else "edited"
        exact = [replacement_of(old, new)]
        return SessionEvent("edit", at=at, id=id, path=path, text=text, change=change, exact=exact)
    if tool == "view":
        return SessionEvent("read", at=at, id=id, path=path)
    if tool in _SEARCHES:
        return SessionEvent("search", at=at, id=id, text=text_of(args.get("pattern")), path=path)
    if tool == "update_todo":
        return SessionEvent("tasks", at=at, id=id, tasks=_todos(text_of(args.get("todos"))))
    if tool == "task":
        asked = text_of(args.get("prompt")) or text_of(args.get("description"))
        return SessionEvent("agent", at=at, id=id, text=asked or tool)
    said = json.dumps(args, ensure_ascii=False, default=str)
    return SessionEvent("call", at=at, id=id, text=shortened(f"{tool} {said}", 2000))


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
    text = shortened(text, LONGEST_OUTPUT)
    events.append(SessionEvent("result", at=at, id=id, text=text, failed=failed))
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
    summary = shortened(text_of(data.get("summaryContent")), LONGEST_TEXT)
    if summary:
        events.append(SessionEvent("summary", at=at, text=summary))


def _planned(data: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    plan = text_of(data.get("planContent")) or text_of(data.get("summary"))
    if plan:
        id = text_of(data.get("requestId"))
        events.append(SessionEvent("plan", at=at, id=id, text=shortened(plan, LONGEST_TEXT)))


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
