"""What happened in a session of Claude Code, from `~/.claude/projects/<folder>/<session>.jsonl`.

One line is one content block of a message, so an id of a message stands there several times. Lines
of subagents are marked as sidechains; what a subagent did is not what the session knows, and only
`read_sidechains` reads it.
"""

from __future__ import annotations

from holdfast.clients.conversation import (
    COUNTED_CALL,
    LONGEST_OUTPUT,
    SessionEvent,
    decode,
    decode_piece,
    is_new,
    new_state,
    note_place,
    recall,
    remember,
    shorten,
    string_in,
    strings_in,
    task_of,
    text_in,
    words_of_the_person,
)
from holdfast.clients.tool_calls import call_event, edit_event, result_event
from holdfast.kernel.canonical_json import list_of, table_of, text_of
from holdfast.kernel.patterns import DOTALL, MULTILINE, compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.clients.conversation import Change, Kind, ReaderState, Replacement

_SIDECHAIN = (b'"isSidechain":true', b'"isSidechain": true')
_TELLING = (b'"user"', b'"assistant"', b'"compact_boundary"', b'"queue-operation"')
_SKIMMED = (b'"user"', b'"compact_boundary"', b'"queue-operation"')
_FAILED = (b'"is_error":true', b'"is_error": true')
# A long line with one of these is decoded: an answer, a subagent in the background.
_NEEDED = (
    *_FAILED,
    b'"answers":',
    b'"isAsync":',
    b"<task-notification>",
    b'"isCompactSummary"',
    b'"updated_file":',
)
_REFUSAL = b"The user doesn't want to"
_RESULT, _RESULT_ID = b'"tool_result"', b'"tool_use_id":"'
_CONTENT = (b'"content":"', b'"text":"')
EXCERPT = 12_000
# Several hundred tool calls.
READ_WHOLE = 3 << 19

_ENDED_TASK = compile_later(
    r"<tool-use-id>([^<]{1,100})</tool-use-id>.*?<status>(\w+)</status>", DOTALL
)
_EXIT_CODE = compile_later(r"\(exit code (\d+)\)")
_CHOSEN = compile_later(r'"([^"]{1,400})"="([^"]{1,400})"')
_LISTED = compile_later(r"^#(\d+) \[(\w+)\] (.+?)(?: \[blocked by.*)?$", MULTILINE)
_TASK_NUMBER = compile_later(r"#(\d+)")


_QUIET = compile_later(
    rb'"isSidechain": ?true|"type": ?"(?:attachment|permission-mode|last-prompt|ai-title|system|mode|'
    rb"pr-link|bridge-session|queue-operation|summary|custom-title|agent-name|cost-state|tools-used|"
    rb'file-history-snapshot|progress|atis-latch|tag|api-request[a-z-]*)"'
)
# What a line is stands in its first bytes, before any long text of it.
HEAD = 1600
# Whether it is a subagent's stands before that.
MARKED = 400
_CALL = b'"tool_use"'
_SAID = b'"content":[{"type":"text"'
_TOOLS: dict[str, Kind] = {
    "Bash": "run",
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit"), "edit"),
    "Read": "read",
    **dict.fromkeys(("Grep", "Glob", "LS"), "search"),
    "TodoWrite": "tasks",
    "ExitPlanMode": "plan",
}
# Calls of these tools stay important; other calls are only counted.
_LASTING = compile_later(
    rb'"name": ?"(?:TodoWrite|TaskCreate|TaskUpdate|TaskList|ExitPlanMode|AskUserQuestion)"'
)
# Most changes of tasks are of this form, and need no decoding; the only block of their line.
_CHANGED_TASK = compile_later(
    rb'"name":"TaskUpdate","input":\{"taskId":"([\w-]{1,40})","status":"(\w{1,40})"\}\}\]'
)


def skim(line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
    """Only what stays important for a whole session. Most lines are left after a few looks."""
    find = line.find
    if find(_SIDECHAIN[0], 0, MARKED) >= 0 or find(_SIDECHAIN[1], 0, MARKED) >= 0:
        return
    call = find(_CALL, 0, HEAD)
    if call >= 0:
        lasting = _LASTING.search(line, call, HEAD)
        if lasting is None:
            events.append(COUNTED_CALL)
            return
        changed = _CHANGED_TASK.match(line, lasting.start(), HEAD)
        if changed:
            task = task_of(f"#{changed[1].decode()}", "", changed[2].decode())
            events.append(COUNTED_CALL)
            events.append(SessionEvent("task", tasks=[task]))
            return
    elif find(_RESULT, 0, HEAD) >= 0:
        waiting = state["pending"]
        is_known = waiting and string_in(line[:HEAD], _RESULT_ID) in waiting
        if not is_known and find(_REFUSAL, 0, HEAD) < 0:
            return
    elif not any(find(word, 0, HEAD) >= 0 for word in _SKIMMED) and find(_SAID, 0, HEAD) < 0:
        return
    for record in decode(line):
        parse(record, state, events)


def read_sidechains(lines: Iterable[bytes]) -> list[SessionEvent]:
    """The edits and commands of subagents, and how each ended."""
    state = new_state()
    events: list[SessionEvent] = []
    for line in lines:
        if any(mark in line for mark in _SIDECHAIN) and (_CALL in line or _RESULT in line):
            for record in decode(line):
                parse({**record, "isSidechain": False}, state, events)
    return [event for event in events if event.kind in ("edit", "run", "result")]


def is_telling(line: bytes) -> bool:
    """Whether a line can say what happened."""
    if any(mark in line for mark in _SIDECHAIN):
        return False
    return any(word in line for word in _TELLING)


def is_quiet(line: bytes) -> bool:
    """Whether a line is of a kind that says nothing of the work, or is empty."""
    return _QUIET.search(line) is not None or not line.strip()


def peek(line: bytes, state: ReaderState, events: list[SessionEvent]) -> bool:
    """The result of a call that went well, without decoding what may be megabytes of output."""
    start = line.find(_RESULT)
    if start < 0 or any(mark in line for mark in _NEEDED):
        return False
    ids: list[str] = []
    at = line.find(_RESULT_ID)
    while at >= 0 and len(ids) < 20:
        ids.append(string_in(line, _RESULT_ID, at))
        at = line.find(_RESULT_ID, at + 1)
    if not ids or any(id in state["pending"] for id in ids):
        return False
    text = ""
    if len(ids) == 1:
        text = _excerpt(line, start)
    stamp = string_in(line, b'"timestamp":"')
    for id in dict.fromkeys(ids):
        events.append(SessionEvent("result", at=stamp, id=id, text=text, failed=False))
    return True


def _excerpt(line: bytes, start: int) -> str:
    """The beginning of a result's own text, which stands right before or right after its type."""
    for key in _CONTENT:
        at = line.find(key, max(0, start - 200))
        if at >= 0:
            at += len(key)
            return decode_piece(line, at, at + EXCERPT)
    return ""


def parse(record: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    """Append the events of one line."""
    if record.get("isSidechain") is True:
        return
    at = text_of(record.get("timestamp"))
    note_place(text_of(record.get("cwd")), at, state, events)
    kind = record.get("type")
    message = table_of(record.get("message"))
    if kind == "user":
        _user(record, message, at, state, events)
    elif kind == "assistant":
        _assistant(message, at, state, events)
    elif kind == "system":
        if record.get("subtype") == "compact_boundary":
            events.append(SessionEvent("compact", at=at))
    elif kind == "queue-operation":
        _queued(record, at, state, events)
    elif not isinstance(kind, str):
        state["unknown"] += 1


def _user(
    record: dict[str, Any],
    message: dict[str, Any],
    at: str,
    state: ReaderState,
    events: list[SessionEvent],
) -> None:
    content = message.get("content")
    if record.get("isCompactSummary"):
        events.append(SessionEvent("summary", at=at, text=text_in(content, LONGEST_OUTPUT)))
        return
    if record.get("isMeta"):
        return
    blocks = [table_of(block) for block in list_of(content)]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    for block in results:
        _result(block, record.get("toolUseResult"), at, state, events)
    if results:
        return
    text = text_in(content)
    if "<task-notification>" in text[:200]:
        _ended_in_background(text, at, state, events)
        return
    words = words_of_the_person(text)
    if words:
        events.append(SessionEvent("prompt", at=at, text=words))


def _result(
    block: dict[str, Any], details: Any, at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    id, failed = text_of(block.get("tool_use_id")), block.get("is_error") is True
    text = text_in(block.get("content"), LONGEST_OUTPUT)
    what = recall(state, id) or [""]
    if what[0] == "question" and not failed:
        _answers(table_of(details), text, at, events)
    elif what[0] == "create" and not failed:
        number = _TASK_NUMBER.search(text)
        key = number[1] if number else text_of(table_of(table_of(details).get("task")).get("id"))
        task = task_of(f"#{key}" if key else what[1], what[1], "pending")
        events.append(SessionEvent("task", at=at, tasks=[task]))
    elif what[0] == "list" and not failed:
        listed = [task_of(f"#{key}", words, state) for key, state, words in _LISTED.findall(text)]
        if listed:
            events.append(SessionEvent("tasks", at=at, tasks=listed, again=True))
    elif what[0] == "agent" and not table_of(details).get("isAsync"):
        events.append(SessionEvent("agent_end", at=at, id=id))
    running = bool(table_of(details).get("backgroundTaskId"))
    outcome = None if running or text.startswith("<tool_use_error>Cancelled") else failed
    # A cell of a notebook: where it stands in the file, only the whole file after it tells.
    whole = text_of(table_of(details).get("updated_file"))
    exact: list[Replacement] = [{"new": whole}] if whole else []
    events.append(result_event(id, at=at, text=text, failed=outcome, running=running, exact=exact))


def _answers(details: dict[str, Any], text: str, at: str, events: list[SessionEvent]) -> None:
    given = [
        (question, answer)
        for question, answer in table_of(details.get("answers")).items()
        if isinstance(answer, str)
    ]
    for question, answer in given or _CHOSEN.findall(text):
        events.append(SessionEvent("answer", at=at, text=answer[:1000], about=question[:400]))


def _queued(
    record: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    """What the person types while the agent is at work waits in a queue: it is given to the agent in its turn
    (`remove`), comes again as a prompt (`dequeue`), or goes back into the input line (`popAll`)."""
    text, operation = text_in(record.get("content")), record.get("operation")
    if "<task-notification>" in text[:200]:
        _ended_in_background(text, at, state, events)
    elif operation == "enqueue":
        words = words_of_the_person(text)
        if words and not words.startswith("/"):
            remember(state, "queue", *state["pending"].get("queue", ()), at)
            events.append(SessionEvent("heard", at=at, id=at, text=words))
    elif operation == "popAll":
        events += [SessionEvent("heard", at=at, id=id) for id in recall(state, "queue")]
    else:
        recall(state, "queue")


def _ended_in_background(
    text: str, at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    """A command or a subagent in the background ended. The client says so twice."""
    for id, status in _ENDED_TASK.findall(text[:LONGEST_OUTPUT]):
        if not is_new(state, f"end:{id}"):
            continue
        code = _EXIT_CODE.search(text)
        failed = code[1] != "0" if code else status == "failed"
        events.append(SessionEvent("result", at=at, id=id, failed=failed))
        events.append(SessionEvent("agent_end", at=at, id=id))


def _assistant(
    message: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    if message.get("model") == "<synthetic>":
        return
    name = text_of(message.get("id"))
    for block in list_of(message.get("content")):
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text":
            text = text_of(block.get("text")).strip()
            if text and is_new(state, f"{name}:{len(text)}:{text[:24]}"):
                events.append(SessionEvent("said", at=at, text=shorten(text, LONGEST_OUTPUT)))
        elif kind == "tool_use":
            id = text_of(block.get("id"))
            if is_new(state, id) or not id:
                tool = text_of(block.get("name"))
                _call(tool, table_of(block.get("input")), at, id, state, events)


def _call(
    tool: str,
    given: dict[str, Any],
    at: str,
    id: str,
    state: ReaderState,
    events: list[SessionEvent],
) -> None:
    kind = _TOOLS.get(tool)
    if kind == "edit":
        change: Change = "created" if tool == "Write" else "edited"
        events.append(edit_event(given, id=id, at=at, change=change, with_break=True))
    elif kind is not None:
        events.append(call_event(kind, tool, given, id=id, at=at))
    elif tool == "TaskUpdate":
        number = f"#{given.get('taskId')}"
        task = task_of(number, given.get("subject"), given.get("status"))
        events.append(SessionEvent("call", at=at, id=id))
        events.append(SessionEvent("task", at=at, tasks=[task]))
    elif tool in ("Agent", "Task"):
        remember(state, id, "agent")
        what = text_of(given.get("description")) or text_of(given.get("prompt"))
        events.append(SessionEvent("agent", at=at, id=id, text=what[:400]))
    else:
        if tool == "TaskCreate":
            remember(state, id, "create", text_of(given.get("subject"))[:1000])
        elif tool == "TaskList":
            remember(state, id, "list")
        elif tool == "AskUserQuestion":
            remember(state, id, "question")
        events.append(SessionEvent("call", at=at, id=id, text=f"{tool} {strings_in(given)}"))
