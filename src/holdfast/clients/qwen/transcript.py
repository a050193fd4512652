"""Qwen Code: one record a line, with the parts of a message as Gemini's API has them.

The client only appends: a message once, a tool's result on a line of its own, and besides much that
its interface needs, which says nothing of the work.
"""

from __future__ import annotations

import json

from holdfast.clients.conversation import (
    LONGEST_OUTPUT,
    LONGEST_TEXT,
    SessionEvent,
    decode,
    flat,
    keep_lasting,
    recall,
    remember,
    replacement_of,
    shortened,
    task_of,
    words_of_the_person,
)
from holdfast.kernel.canonical_json import list_of, table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.conversation import Change, ReaderState

READ_WHOLE = 6 << 20
_KINDS = frozenset(("user", "assistant", "tool_result", "system"))
_QUIET = b'"type":"system"'
_COMPRESSED = b'"subtype":"chat_compression"'
_EDITS = frozenset(("edit", "write_file", "notebook_edit"))
_SEARCHES = frozenset(("grep_search", "glob", "list_directory"))


def is_telling(line: bytes) -> bool:
    """All but what the client's interface keeps for itself."""
    return bool(line.strip()) and (_QUIET not in line[:600] or _COMPRESSED in line[:600])


def is_quiet(line: bytes) -> bool:
    return not line.strip() or _QUIET in line[:600]


def peek(line: bytes, state: ReaderState, events: list[SessionEvent]) -> bool:
    return False  # a line holds one call or one result, and both matter


def skim(line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
    """Read a line of a long session: only what matters for the whole of it."""
    if not is_telling(line):
        return
    found: list[SessionEvent] = []
    for record in decode(line):
        parse(record, state, found)
    keep_lasting(found, events)


def parse(record: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    kind, at = text_of(record.get("type")), text_of(record.get("timestamp"))
    if kind not in _KINDS:
        state["unknown"] += 1
        return
    cwd = text_of(record.get("cwd"))
    if cwd and state.get("cwd") != cwd:
        state["cwd"] = cwd
        events.append(SessionEvent("place", at=at, path=cwd))
    parts = list_of(table_of(record.get("message")).get("parts"))
    if kind == "system":
        _compressed(table_of(record.get("systemPayload")), at, events)
    elif kind == "user":
        # The client writes in the person's name as well, and says so.
        if text_of(record.get("provenance")) in ("", "real_user"):
            words = words_of_the_person(flat(parts))
            if words:
                events.append(SessionEvent("prompt", at=at, text=words))
    elif kind == "assistant":
        _said(parts, at, state, events)
    else:
        _ended(parts, table_of(record.get("toolCallResult")), at, state, events)


def _compressed(payload: dict[str, Any], at: str, events: list[SessionEvent]) -> None:
    history = list_of(payload.get("compressedHistory"))
    events.append(SessionEvent("compact", at=at))
    text = flat(list_of(table_of(history[0]).get("parts"))) if history else ""
    if text:
        events.append(SessionEvent("summary", at=at, text=text))


def _said(parts: list[Any], at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    spoken = [part for part in map(table_of, parts) if not part.get("thought")]
    text = flat(spoken).strip()
    if text:
        events.append(SessionEvent("said", at=at, text=text))
    for part in spoken:
        call = table_of(part.get("functionCall"))
        if call:
            id, tool = text_of(call.get("id")), text_of(call.get("name"))
            remember(state, id, tool)
            events.append(_called(tool, table_of(call.get("args")), id, at))


def _called(tool: str, args: dict[str, Any], id: str, at: str) -> SessionEvent:
    path = _first(args, "file_path", "absolute_path", "notebook_path", "path")
    if tool == "run_shell_command":
        folder = _first(args, "directory")
        return SessionEvent("run", at=at, id=id, text=text_of(args.get("command")), path=folder)
    if tool in _EDITS:
        old = text_of(args.get("old_string"))
        new = text_of(args.get("new_string")) or text_of(args.get("content"))
        text = shortened(f"{old}\n{new}" if old else new, LONGEST_TEXT)
        change: Change = "edited" if old or tool != "write_file" else "created"
        several = args.get("replace_all") is True
        exact = [] if tool == "notebook_edit" else [replacement_of(old, new, everywhere=several)]
        return SessionEvent("edit", at=at, id=id, path=path, text=text, change=change, exact=exact)
    if tool == "read_file":
        return SessionEvent("read", at=at, id=id, path=path)
    if tool in _SEARCHES:
        return SessionEvent("search", at=at, id=id, text=text_of(args.get("pattern")), path=path)
    if tool == "todo_write":
        todos = [
            task_of(place, each.get("content"), each.get("status"))
            for place, each in enumerate(map(table_of, list_of(args.get("todos"))[:200]), 1)
        ]
        return SessionEvent("tasks", at=at, id=id, tasks=todos)
    if tool in ("agent", "task"):
        asked = _first(args, "prompt", "description")
        return SessionEvent("agent", at=at, id=id, text=asked or tool)
    if tool == "exit_plan_mode":
        return SessionEvent("plan", at=at, id=id, text=_first(args, "plan"))
    said = json.dumps(args, ensure_ascii=False, default=str)
    return SessionEvent("call", at=at, id=id, text=shortened(f"{tool} {said}", 2000))


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
        text = shortened(text.strip(), LONGEST_OUTPUT)
        events.append(SessionEvent("result", at=at, id=id, text=text, failed=failed))
        if tool in ("agent", "task"):
            events.append(SessionEvent("agent_end", at=at, id=id))


def _first(args: dict[str, Any], *names: str) -> str:
    return next((args[name] for name in names if text_of(args.get(name))), "")
