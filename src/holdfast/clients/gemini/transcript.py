"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, one record per line.

The client only appends. It writes a message again, under the same id, when a tool call ends, and
`$set` may repeat the whole history, some versions with new times. So a call counts once by its id, a
message that is older than the newest one says nothing new, and of a history only what follows the
last message that was read.
"""

from __future__ import annotations

import json
import os

from holdfast.clients.conversation import (
    LONGEST_OUTPUT,
    SessionEvent,
    is_new,
    note_place,
    shorten,
    skim_decoded,
    task_of,
    text_in,
    words_of_the_person,
)
from holdfast.clients.tool_calls import call_event, edit_event, result_event
from holdfast.kernel.canonical_json import list_of, table_of, text_of
from holdfast.kernel.patterns import MULTILINE, compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.conversation import Change, Kind, ReaderState

    class GeminiState(ReaderState, total=False):
        """`newest` is the time of the newest message that was read, `last` the id of the last one
        that held words or tool calls."""

        newest: str
        last: str


# Most of a long chat is its own history, repeated by every `--resume`: a few hundred tool calls take
# more bytes than with other clients.
READ_WHOLE = 12 << 20
_ONLY_TIMES = b'{"$set":{"lastUpdated":'
_HISTORY = b'{"$set":{"messages":['
_IS_MESSAGE = (b'"type":"user"', b'"type":"gemini"')
_TOOL_ANSWER = b'"type":"user","content":[{"functionResponse":'
_NO_WORDS = frozenset(("info", "warning", "error"))
_ENDED = frozenset(("success", "error", "cancelled"))
_GREETINGS = (
    "This is the Gemini CLI.",
    "Got it. Thanks for the context!",
    "Got it. Thanks for the additional context!",
)
_SNAPSHOT = "<state_snapshot>"
_FOLDER = compile_later(
    r"(?:Workspace Directories:\*\*\n\s+- |currently working in the directory: )([^\n]{1,4096})"
)
_EXIT_CODE = compile_later(r"^(?:\[)?Exit Code: (-?\d+)", MULTILINE)
_SIGNAL = compile_later(r"^Signal: (?!\(none\))\S", MULTILINE)
_SHELL_NOTES = compile_later(
    r"^(?:</?untrusted_context>|Process Group PGID: .*|Background PIDs: .*|Signal: \(none\)|"
    r"Error: \(none\)|Exit Code: 0)\n?",
    MULTILINE,
)
# Below what the command printed: the end of an output is what is shown of a failure.
_LAST_EXIT_CODE = compile_later(r"(?<=\S)\n+Exit Code: -?\d+\s*\Z")
_TOOLS: dict[str, Kind] = {
    "run_shell_command": "run",
    **dict.fromkeys(("replace", "write_file", "edit"), "edit"),
    "read_file": "read",
    **dict.fromkeys(("grep_search", "search_file_content", "glob", "list_directory"), "search"),
    "write_todos": "tasks",
    **dict.fromkeys(("invoke_agent", "codebase_investigator", "delegate_to_agent"), "agent"),
    "exit_plan_mode": "plan",
}
_TRACKED = compile_later(r"(?:Created|Updated) task (\S+?)[:.]")
_TRACKER_STATES = {"closed": "completed", "blocked": "open"}


def is_telling(line: bytes) -> bool:
    """All but the clock and a second copy of a tool's answer."""
    return bool(line) and not line.startswith(_ONLY_TIMES) and _TOOL_ANSWER not in line[:300]


def is_quiet(line: bytes) -> bool:
    """What `is_telling` leaves out is all known."""
    return True


def skim(line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
    """Read a line of a long session: only what matters for the whole of it."""
    if is_telling(line) and not peek(line, state, events):
        skim_decoded(parse, line, state, events)


def peek(line: bytes, state: ReaderState, events: list[SessionEvent]) -> bool:
    """A history that ends with the last message that was read; all else has to be decoded."""
    known: GeminiState = state  # type: ignore[assignment]
    last = known.get("last", "").encode()
    if not last or not line.startswith(_HISTORY) or _SNAPSHOT.encode() in line:
        return False
    at = line.rfind(b'{"id":"%b","timestamp":' % last)
    if at < 0:
        return False
    # The message's own type is one; a later one would be news.
    return sum(line.count(mark, at) for mark in _IS_MESSAGE) == 1


def parse(record: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    """One record: the session's head, a message, or a `$set` that may hold the whole history."""
    if "$rewindTo" in record:
        return
    patch = table_of(record.get("$set"))
    if patch or "sessionId" in record:
        _folder(patch.get("directories") or record.get("directories"), "", state, events)
        history = list_of(patch.get("messages") or record.get("messages"))
        for message in _after_the_last(list(map(table_of, history)), state):
            _message(message, state, events)
    elif text_of(record.get("id")):
        _message(record, state, events)
    else:
        state["unknown"] += 1


def _after_the_last(history: list[dict[str, Any]], state: ReaderState) -> list[dict[str, Any]]:
    """The part of a history that was not read yet: all of it, if it is another one."""
    known: GeminiState = state  # type: ignore[assignment]
    ids = [text_of(message.get("id")) for message in history]
    last = known.get("last", "")
    if last not in ids:
        return history
    return history[len(ids) - 1 - ids[::-1].index(last) :]


def _message(message: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    known: GeminiState = state  # type: ignore[assignment]
    at, kind = text_of(message.get("timestamp")), text_of(message.get("type"))
    newest = known.get("newest", "")
    if at and at < newest:
        return
    known["newest"] = max(at, newest)
    id = text_of(message.get("id"))
    if kind == "user":
        if is_new(state, id) and _prompt(message, at, state, events):
            known["last"] = id
    elif kind == "gemini":
        known["last"] = id
        _answer(message, at, state, events)
    elif kind not in _NO_WORDS:
        state["unknown"] += 1


def _prompt(
    message: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]
) -> bool:
    """Whether the person wrote it, and not the client."""
    # What the person typed; `content` has the files that `@name` stands for as well.
    text = text_in(message.get("displayContent")) or text_in(message.get("content"))
    if _SNAPSHOT in text:
        events.append(SessionEvent("compact", at=at))
        events.append(SessionEvent("summary", at=at, text=text.partition(_SNAPSHOT)[2].strip()))
        return False
    if text.lstrip().startswith(("<session_context>", _GREETINGS[0])):
        found = _FOLDER.search(text)
        _folder([found[1].strip()] if found else [], at, state, events)
    words = words_of_the_person(text)
    is_command = words.startswith(("/", "?")) and " " not in words
    if not words or is_command or words.startswith(_GREETINGS):
        return False
    events.append(SessionEvent("prompt", at=at, text=words))
    return True


def _folder(folders: Any, at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    first = text_of(next(iter(list_of(folders)), ""))
    if os.path.isabs(first):
        note_place(first, at, state, events)


def _answer(
    message: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    id, text = text_of(message.get("id")), text_in(message.get("content")).strip()
    if text and text not in _GREETINGS and is_new(state, f"{id} said"):
        events.append(SessionEvent("said", at=at, text=text))
    for each in list_of(message.get("toolCalls")):
        call = table_of(each)
        name = text_of(call.get("id"))
        when = text_of(call.get("timestamp")) or at
        # The client writes a call again with its result, if it wrote it before that came.
        if is_new(state, f"{name} called"):
            _called(call, name, when, events)
        if text_of(call.get("status")) in _ENDED and is_new(state, f"{name} ended"):
            _ended(call, name, when, events)


def _called(call: dict[str, Any], id: str, at: str, events: list[SessionEvent]) -> None:
    tool, args = text_of(call.get("name")), table_of(call.get("args"))
    kind = _TOOLS.get(tool, "call")
    if kind == "edit":
        shown = table_of(call.get("resultDisplay"))
        change: Change = "created" if shown.get("isNewFile") is True else "edited"
        # The arguments may name the file from the project's folder; the display names it in full.
        path = text_of(shown.get("filePath"))
        events.append(edit_event(args, id=id, at=at, change=change, path=path))
    elif tool == "read_many_files":
        names = list_of(args.get("include")) or list_of(args.get("paths"))
        for place, each in enumerate(names[:50]):
            events.append(SessionEvent("read", at=at, id=id, path=text_of(each), again=place > 0))
    else:
        events.append(call_event(kind, tool, args, id=id, at=at))


def _ended(call: dict[str, Any], id: str, at: str, events: list[SessionEvent]) -> None:
    tool, status = text_of(call.get("name")), call.get("status")
    output = _output(call)
    # A call that the person refused or interrupted has not failed.
    failed = {"error": True, "success": False}.get(str(status))
    if tool == "run_shell_command" and status == "success":
        code = _EXIT_CODE.findall(output)
        failed = bool(_SIGNAL.search(output)) or bool(code and code[-1] != "0")
        output = _SHELL_NOTES.sub("", output).removeprefix("Output: ")
        output = _LAST_EXIT_CODE.sub("", output)
    text = shorten(output.strip(), LONGEST_OUTPUT)
    events.append(result_event(id, at=at, text=text, failed=failed))
    if status != "success":
        return
    if tool == "ask_user":
        _answers(call, output, at, events)
    elif tool in ("tracker_create_task", "tracker_update_task"):
        args = table_of(call.get("args"))
        named = _TRACKED.search(output)
        key = named[1] if named else text_of(args.get("id"))
        state = text_of(args.get("status")) or ("open" if tool.endswith("create_task") else "")
        task = task_of(key, args.get("title"), _TRACKER_STATES.get(state, state))
        events.append(SessionEvent("task", at=at, tasks=[task]))
    elif _TOOLS.get(tool) == "agent":
        events.append(SessionEvent("agent_end", at=at, id=id))


def _answers(call: dict[str, Any], output: str, at: str, events: list[SessionEvent]) -> None:
    """What the person chose: the output maps the number of each question to its answer."""
    try:
        answers = table_of(table_of(json.loads(output)).get("answers"))
    except ValueError:
        return
    questions = list_of(table_of(call.get("args")).get("questions"))
    for place, each in enumerate(questions[:20]):
        given = answers.get(str(place))
        if isinstance(given, str) and given:
            about = text_of(table_of(each).get("question"))
            events.append(SessionEvent("answer", at=at, text=given, about=about))


def _output(call: dict[str, Any]) -> str:
    """What the tool answered to the model; else what the client showed to the person."""
    parts = []
    for each in list_of(call.get("result")):
        response = table_of(table_of(table_of(each).get("functionResponse")).get("response"))
        parts.append(text_of(response.get("output")) or text_of(response.get("error")))
    said = "\n".join(part for part in parts if part)
    return said or text_of(call.get("resultDisplay"))
