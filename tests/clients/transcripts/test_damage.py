"""No line makes a reader, the observation or the pack fail, whatever it holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from holdfast.clients import conversation
from holdfast.clients.claude import transcript as claude_transcript
from holdfast.clients.codex import transcript as codex_transcript
from holdfast.kernel import canonical_json
from holdfast.observe import fold as observe
from holdfast.observe.model import LARGEST
from holdfast.pack import pack
from tests.clients.transcripts.lines import call, claude, codex, item, packed, result

READERS = [claude_transcript, codex_transcript]
DAMAGE = {
    "empty": b"",
    "blank": b"   \t ",
    "torn": b'{"type":"user","message":{"role":"user","content":"hel',
    "no JSON": b"user assistant function_call",
    "a list": b'["user", "assistant", "message"]',
    "NUL": b'\0\0{"type":"user"}\0',
    "not UTF-8": b'{"type":"user","message":{"role":"user","content":"\xff\xfe"}}',
    "deep": b'{"type":"user","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "lone surrogate": b'{"type":"user","message":{"role":"user","content":"\\ud800 x"}}',
    "huge number": b'{"type":"user","timestamp":' + b"9" * 5000 + b"}",
}
# Made when they are needed: what a test holds for good, each process that a test forks maps again.
LARGE: dict[str, Callable[[], bytes]] = {
    "10 MB": lambda: claude("user", "x" * 10_000_000),
    "10 MB of output": lambda: result("1", "y" * 10_000_000),
}
values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=8),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(("type", "text", "id", "content", "x")), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def whole(transcript: ModuleType, *lines: bytes) -> str:
    """All the way from lines to text, by both ways of reading."""
    for size in (0, 1 << 30):
        events = conversation.read(transcript, lines, conversation.new_state(), size=size)
        seen = observe.observe(None, events)
        assert len(canonical_json.dumps(seen).encode()) <= LARGEST
        text = pack.render({"seen": seen}, 6000)
        assert len(text) <= 6000
        text.encode("utf-8", "surrogatepass")
    return text


@pytest.mark.parametrize("transcript", READERS, ids=["claude", "codex"])
@pytest.mark.parametrize("line", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_lines_are_passed_over(transcript: ModuleType, line: bytes) -> None:
    whole(transcript, line, claude("user", "after"), item("message", role="user", content="after"))


@pytest.mark.parametrize("transcript", READERS, ids=["claude", "codex"])
@pytest.mark.parametrize("line", LARGE.values(), ids=LARGE.keys())
def test_large_lines_are_passed_over(transcript: ModuleType, line: Callable[[], bytes]) -> None:
    test_damaged_lines_are_passed_over(transcript, line())


def test_lines_that_nobody_knows_are_counted() -> None:
    state = conversation.new_state()
    quiet = packed({"type": "permission-mode", "permissionMode": "default"})
    news = packed({"type": "hologram", "x": 1})
    lines = [DAMAGE["torn"], news, quiet, b"", claude("user", "fine")]
    found = list(conversation.read(claude_transcript, lines, state))
    assert state["unknown"] == 2
    assert [event.kind for event in found] == ["place", "prompt"]


def test_a_usage_reader_gets_the_objects_of_the_same_decoding() -> None:
    state = conversation.new_state()
    events: list[conversation.SessionEvent] = []
    line = packed({"type": "cost-state", "totalCostUSD": 1})
    reading: Any = claude_transcript
    assert conversation.read_line(reading, line, state, events) == []
    found = conversation.read_line(reading, line, state, events, decoded=True)
    assert found == [{"type": "cost-state", "totalCostUSD": 1}]
    assert events == []


@given(values, values, values)
def test_claude_fields_of_any_type_do_no_harm(one: Any, two: Any, three: Any) -> None:
    tools = ("Bash", "Edit", "TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode", "Agent")
    given = {"command": one, "file_path": two, "todos": three, "plan": one, "taskId": two}
    whole(
        claude_transcript,
        claude("user", one),
        claude("assistant", two),
        packed({"type": "user", "message": one, "cwd": two, "timestamp": three}),
        packed({"type": "system", "subtype": one, "message": {"role": "user"}}),
        *(call(str(number), tool, **given) for number, tool in enumerate(tools)),
        *(result(str(number), one, toolUseResult=two) for number in range(len(tools))),
        packed({"type": "queue-operation", "content": three}),
        call("x", "AskUserQuestion", questions=one),
        result("x", "ok", toolUseResult={"answers": two}),
    )


@given(values, values, values)
def test_codex_fields_of_any_type_do_no_harm(one: Any, two: Any, three: Any) -> None:
    names = ("exec_command", "update_plan", "apply_patch", "write_stdin", "spawn_agent", "wait")
    given = json.dumps({"cmd": one, "plan": two, "session_id": three, "message": one})
    whole(
        codex_transcript,
        codex("session_meta", cwd=one),
        codex("event_msg", type="user_message", message=one),
        codex("compacted", message=two),
        item("message", role="user", content=three),
        item("custom_tool_call", name="apply_patch", input=one, call_id=two),
        *(item("function_call", name=name, arguments=given, call_id=name) for name in names),
        *(item("function_call_output", call_id=name, output=one) for name in names),
        item("function_call", name=one, arguments=two, call_id=three),
        packed({"type": one, "payload": two}),
    )
