"""What happened in a session of Codex, from its rollout file.

Codex writes most things twice: as an item of the conversation (`response_item`) and as an event for
its screen (`event_msg`). Items are read; of the events, only prompts, which older versions put
nowhere else without their wrapping.
"""

from __future__ import annotations

import json

from holdfast.clients.conversation import (
    COUNTED_CALL,
    CUT,
    LONGEST_OUTPUT,
    PEEK_ABOVE,
    SessionEvent,
    decode,
    decode_piece,
    note_place,
    recall,
    remember,
    shorten,
    string_in,
    strings_in,
    text_in,
    words_of_the_person,
)
from holdfast.clients.tool_calls import read_patch, result_event, tasks_of
from holdfast.kernel.canonical_json import list_of, table_of, text_of
from holdfast.kernel.digest import id_of
from holdfast.kernel.patterns import compile_later
from holdfast.kernel.text import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.conversation import ReaderState

_TELLING = tuple(
    f'"{kind}"'.encode()
    for kind in split_words(
        "function_call function_call_output custom_tool_call message custom_tool_call_output "
        "user_message session_meta turn_context compacted local_shell_call turn_aborted"
    )
)
# Said again elsewhere, and sometimes long.
_SKIPPED = (b'"exec_command_end"', b'"patch_apply_end"', b'"exec_command_output_delta"')
_OUTPUTS = (b'"function_call_output"', b'"custom_tool_call_output"')
_OUTPUT = b'"output":"'
_COMPACTED = (b'"type":"compacted"', b'"type": "compacted"')
EXCERPT = 12_000
# Some two hundred tool calls and more.
READ_WHOLE = 1 << 20

_SHELLS = frozenset(
    ("exec_command", "shell", "exec", "local_shell", "shell_command", "unified_exec")
)
_EXIT = compile_later(r'(?:exited with code|Exit code:|"exit_code"\s*:)\s*(-?\d+)')
_RUNNING = compile_later(r"Process running with session ID (\S+)")
_PATCH_IN_COMMAND = compile_later(r"^\s*(?:cd \S+ && )?apply_patch\b")
_WRAPPED = compile_later(r"^(?:/\S*/)?(?:ba|z|da|fi)?sh$")

_QUIET = compile_later(
    rb'"type": ?"(?:event_msg|reasoning|world_state|token_usage_record|web_search_call|'
    rb'ghost_snapshot|compaction[a-z_]*)"'
)
HEAD = 400
_EVENT = b'"type":"event_msg"'
# What else stays important; other calls are only counted.
_LASTING = (b"update_plan", b"request_user_input")


def skim(line: bytes, state: ReaderState, events: list[SessionEvent]) -> None:
    """Only what stays important for a whole session. Most lines are left after a few looks."""
    find = line.find
    if find(_EVENT, 0, HEAD) >= 0:
        if find(b'"user_message"', 0, HEAD) < 0:
            return
    elif find(b'call_output"', 0, HEAD) >= 0:
        waiting = state["pending"]
        if not waiting or string_in(line[:HEAD], b'"call_id":"') not in waiting:
            return
    elif find(b'function_call"', 0, HEAD) >= 0 or find(b'custom_tool_call"', 0, HEAD) >= 0:
        if find(_LASTING[0], 0, HEAD) < 0 and find(_LASTING[1], 0, HEAD) < 0:
            events.append(COUNTED_CALL)
            return
    elif (
        find(b'"user"', 0, HEAD) < 0
        and find(b'"assistant"', 0, HEAD) < 0
        and find(b'"compacted"', 0, HEAD) < 0
        and find(b'"session_meta"', 0, HEAD) < 0
        and find(b'"user_message"', 0, HEAD) < 0
    ):
        return
    if len(line) > PEEK_ABOVE and peek(line, state, events):
        return
    for record in decode(line):
        parse(record, state, events)


def is_telling(line: bytes) -> bool:
    """Whether a line can say what happened."""
    return any(word in line for word in _TELLING) and not any(
        word in line[:300] for word in _SKIPPED
    )


def is_quiet(line: bytes) -> bool:
    """Whether a line is of a kind that says nothing of the work, or is empty."""
    return _QUIET.search(line) is not None or not line.strip()


def peek(line: bytes, state: ReaderState, events: list[SessionEvent]) -> bool:
    """A long output, or a compaction with its whole history, without decoding it."""
    if any(mark in line[:200] for mark in _COMPACTED):
        stamp = string_in(line, b'"timestamp":"')
        events.append(SessionEvent("compact", at=stamp))
        at = line.find(b'"message":"', 0, 400)
        if at >= 0:
            text = decode_piece(line, at + 11, at + 11 + LONGEST_OUTPUT)
            events.append(SessionEvent("summary", at=stamp, text=text))
        return True
    if not any(word in line[:300] for word in _OUTPUTS):
        return False
    at = line.find(_OUTPUT)
    id = string_in(line, b'"call_id":"')
    if at < 0 or not id or id in state["pending"]:
        return False
    at += len(_OUTPUT)
    text = decode_piece(line, at, at + EXCERPT)
    end = line.rfind(b'"')
    if end > at + EXCERPT:
        text += CUT + decode_piece(line, max(at + EXCERPT, end - 1500), end)
    _output(id, text, string_in(line, b'"timestamp":"'), state, events)
    return True


def parse(record: dict[str, Any], state: ReaderState, events: list[SessionEvent]) -> None:
    """Append the events of one line."""
    kind, at = record.get("type"), text_of(record.get("timestamp"))
    payload = table_of(record.get("payload"))
    sub = payload.get("type")
    if kind in ("session_meta", "turn_context"):
        note_place(text_of(payload.get("cwd")), at, state, events)
    elif kind == "compacted":
        events.append(SessionEvent("compact", at=at))
        text = shorten(text_of(payload.get("message")), LONGEST_OUTPUT)
        events.append(SessionEvent("summary", at=at, text=text))
    elif kind == "event_msg":
        if sub == "user_message":
            _prompt(text_of(payload.get("message")), "event", at, state, events)
    elif kind == "response_item":
        _item(sub, payload, at, state, events)
    elif not isinstance(kind, str):
        state["unknown"] += 1


def _prompt(
    text: str, source: str, at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    """A prompt that stands there as an item and as an event is one prompt."""
    if "<subagent_notification>" in text[:200]:
        _ended_agents(text, at, state, events)
        return
    words = words_of_the_person(shorten(text, 24_000))
    if not words:
        return
    other = state["pending"].get("prompt", ["", ""])
    # The words themselves are not kept: they are not redacted yet.
    same = id_of(words[:200].encode("utf-8", "replace").decode())
    if other[0] not in ("", source) and other[1] == same:
        del state["pending"]["prompt"]
        return
    remember(state, "prompt", source, same)
    events.append(SessionEvent("prompt", at=at, text=words))


def _item(
    sub: Any, payload: dict[str, Any], at: str, state: ReaderState, events: list[SessionEvent]
) -> None:
    id = text_of(payload.get("call_id")) or text_of(payload.get("id"))
    if sub == "message":
        text, role = text_in(payload.get("content")), payload.get("role")
        if role == "user":
            _prompt(text, "item", at, state, events)
        elif role == "assistant" and text.strip():
            events.append(SessionEvent("said", at=at, text=shorten(text.strip(), LONGEST_OUTPUT)))
    elif sub == "function_call":
        given = _arguments(payload.get("arguments"))
        _call(text_of(payload.get("name")), given, at, id, state, events)
    elif sub == "local_shell_call":
        _call("local_shell", table_of(payload.get("action")), at, id, state, events)
    elif sub == "custom_tool_call":
        text = text_of(payload.get("input"))
        if payload.get("name") == "apply_patch":
            _patch(text, at, id, events)
        else:
            name = text_of(payload.get("name"))
            events.append(SessionEvent("call", at=at, id=id, text=f"{name} {text[:4000]}"))
    elif sub in ("function_call_output", "custom_tool_call_output"):
        output = payload.get("output")
        if isinstance(output, str):
            text = output
        else:
            content = table_of(output).get("content")
            text = text_in(output if isinstance(output, list) else content)
            if table_of(output).get("success") is False:
                text = f"exited with code 1\n{text}"
        _output(id, text, at, state, events)


def _arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    try:
        return table_of(json.loads(text_of(value) or "{}"))
    except (ValueError, RecursionError):
        return {}


def _call(
    name: str,
    given: dict[str, Any],
    at: str,
    id: str,
    state: ReaderState,
    events: list[SessionEvent],
) -> None:
    if name in _SHELLS:
        command = _command(given.get("cmd") or given.get("command"))
        if _PATCH_IN_COMMAND.match(command) and read_patch(command):
            _patch(command, at, id, events)
            return
        folder = text_of(given.get("workdir")) or text_of(given.get("cwd"))
        text = shorten(command, LONGEST_OUTPUT)
        events.append(SessionEvent("run", at=at, id=id, text=text, path=folder))
    elif name == "apply_patch":
        _patch(text_of(given.get("input")) or text_of(given.get("patch")), at, id, events)
    elif name == "update_plan":
        events.append(SessionEvent("tasks", at=at, id=id, tasks=tasks_of(given.get("plan"))))
    elif name == "write_stdin":
        # The command went on in the background; its end is the end of the command.
        run = state["pending"].get(f"session:{given.get('session_id')}", [""])[0]
        remember(state, id, "stdin", run)
        text = text_of(given.get("chars"))[:400]
        events.append(SessionEvent("call", at=at, id="" if run else id, text=text))
    elif name == "spawn_agent":
        remember(state, id, "spawn")
        what = text_of(given.get("message")) or text_in(given.get("items"))
        events.append(SessionEvent("agent", at=at, id=id, text=what[:400]))
    else:
        if name in ("wait_agent", "close_agent", "wait"):
            remember(state, id, "ended", text_of(given.get("target")) or text_of(given.get("id")))
        elif name == "request_user_input":
            remember(state, id, "question")
        events.append(SessionEvent("call", at=at, id=id, text=f"{name} {strings_in(given)}"))


def _command(value: Any) -> str:
    """A command line; a list is one that a shell was given, or a program with its arguments."""
    if isinstance(value, str):
        return value
    words = [word for word in list_of(value) if isinstance(word, str)]
    if len(words) == 3 and _WRAPPED.match(words[0]) and words[1] in ("-c", "-lc", "-l", "-ic"):
        return words[2]
    return " ".join(words)


def _patch(text: str, at: str, id: str, events: list[SessionEvent]) -> None:
    """A patch changes several files; the text between two headers belongs to the first."""
    files = read_patch(text)
    for number, file in enumerate(files):
        path, change, origin = file["path"], file["change"], file["origin"]
        if origin:
            events.append(
                SessionEvent("edit", at=at, id=id, path=origin, change="deleted", again=number > 0)
            )
        events.append(
            SessionEvent(
                "edit",
                at=at,
                id=id,
                path=path,
                text=shorten(file["body"], 16_000),
                change=change,
                again=number > 0 or bool(origin),
                exact=file["exact"],
                about=origin,
            )
        )
    if not files:
        events.append(SessionEvent("call", at=at, id=id, text="apply_patch"))


def _output(id: str, text: str, at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    what = recall(state, id) or [""]
    if what[0] == "stdin" and what[1]:
        id = what[1]
    elif what[0] == "spawn":
        agent = text_of(_arguments(text).get("agent_id"))
        if agent:
            remember(state, f"agent:{agent}", id)
        else:
            events.append(SessionEvent("agent_end", at=at, id=id))
    elif what[0] == "ended":
        _ended_agents(f"{text} {what[1]}", at, state, events)
    elif what[0] == "question":
        _answers(text, at, events)
    head = text[:1000]
    running, code = _RUNNING.search(head), _EXIT.search(head) or _EXIT.search(text[-300:])
    if running:
        remember(state, f"session:{running[1]}", id)
    failed = None if running else code[1] != "0" if code else None
    text = text.partition("\nOutput:\n")[2] or text
    text = shorten(text, LONGEST_OUTPUT)
    events.append(result_event(id, at=at, text=text, failed=failed, running=bool(running)))


def _ended_agents(text: str, at: str, state: ReaderState, events: list[SessionEvent]) -> None:
    """Every subagent that a notice or a wait names as ended."""
    for key in [key for key in state["pending"] if key.startswith("agent:")]:
        agent = key.removeprefix("agent:")
        found = text.find(agent)
        if found >= 0 and '"running"' not in text[found : found + len(agent) + 20]:
            events.append(SessionEvent("agent_end", at=at, id=recall(state, key)[0]))


def _answers(text: str, at: str, events: list[SessionEvent]) -> None:
    for question, given in table_of(_arguments(text).get("answers")).items():
        chosen = list_of(table_of(given).get("answers")) or [given]
        answer = ", ".join(one for one in chosen if isinstance(one, str))
        if answer:
            events.append(SessionEvent("answer", at=at, text=answer[:1000], about=question[:400]))
