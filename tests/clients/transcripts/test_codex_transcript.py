"""Codex's rollout lines become events."""

from __future__ import annotations

import json

from holdfast.clients import conversation
from holdfast.clients.codex import transcript as codex_transcript
from tests.clients.transcripts.lines import (
    CWD,
    codex,
    events_of,
    function,
    item,
    kinds,
    output,
    packed,
)


def read(*lines: bytes, size: int = 0) -> list[conversation.SessionEvent]:
    return events_of(codex_transcript, *lines, size=size)


def message(role: str, text: str) -> bytes:
    return item("message", role=role, content=[{"type": "input_text", "text": text}])


def test_the_folder_is_the_one_the_session_began_in() -> None:
    events = read(codex("session_meta", id="s", cwd=CWD), codex("turn_context", cwd=CWD))
    assert [(event.kind, event.path) for event in events] == [("place", CWD)]


def test_a_prompt_written_as_item_and_as_event_is_one() -> None:
    event = codex("event_msg", type="user_message", message="Fix the total.")
    assert kinds(read(message("user", "Fix the total."), event)) == ["prompt"]
    assert kinds(read(event, message("user", "Fix the total."))) == ["prompt"]
    twice = (message("user", "go on"), codex("event_msg", type="user_message", message="go on"))
    assert kinds(read(*twice, *twice)) == ["prompt", "prompt"]


def test_instructions_of_the_client_are_no_prompt() -> None:
    texts = ("<environment_context>x</environment_context>", "# AGENTS.md instructions for /x")
    assert read(*(message("user", text) for text in texts), message("developer", "rules")) == []


def test_every_way_to_run_a_command_is_known() -> None:
    events = read(
        function("1", "exec_command", cmd="make test", workdir=CWD),
        function("2", "shell", command=["bash", "-lc", "make test"]),
        function("3", "shell", command=["make", "test"]),
        function("4", "shell_command", command="make test"),
        item("local_shell_call", call_id="5", action={"command": ["make", "test"]}),
    )
    assert [(event.kind, event.text) for event in events] == [("run", "make test")] * 5


def test_exit_codes_of_old_and_new_outputs_are_read() -> None:
    new = "Chunk ID: 1\nProcess exited with code 2\nOutput:\nmake: *** error"
    old = json.dumps({"output": "ok", "metadata": {"exit_code": 0}})
    events = read(output("1", new), output("2", old), output("3", {"content": "?"}))
    assert [event.failed for event in events] == [True, False, None]
    assert events[0].text == "make: *** error"


def test_a_command_that_went_on_ends_with_its_last_output() -> None:
    events = read(
        function("1", "exec_command", cmd="make test"),
        output("1", "Process running with session ID 42\nOutput:\n"),
        function("2", "write_stdin", session_id=42, chars=""),
        output("2", "Process exited with code 1\nOutput:\nFAIL"),
    )
    results = [event for event in events if event.kind == "result"]
    assert [(one.id, one.failed) for one in results] == [("1", None), ("1", True)]


def test_a_patch_changes_several_files_in_one_call() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n-old_total\n+new_total\n"
        "*** Add File: src/b.py\n+made\n*** Delete File: src/c.py\n"
        "*** Update File: src/d.py\n*** Move to: src/e.py\n+x\n*** End Patch"
    )
    expected = [
        ("src/a.py", "edited", False),
        ("src/b.py", "created", True),
        ("src/c.py", "deleted", True),
        ("src/d.py", "deleted", True),
        ("src/e.py", "created", True),
    ]
    for line in (
        item("custom_tool_call", name="apply_patch", input=patch, call_id="1"),
        function("1", "shell", command=["bash", "-lc", f"apply_patch <<'EOF'\n{patch}\nEOF"]),
    ):
        events = read(line)
        assert [(one.path, one.change, one.again) for one in events] == expected
        assert "new_total" in events[0].text
        assert "made" not in events[0].text


def test_the_plan_tool_is_the_task_list() -> None:
    plan = [{"step": "Parse", "status": "completed"}, {"step": "Print", "status": "pending"}]
    assert read(function("1", "update_plan", plan=plan))[0].tasks == [
        {"key": "1", "text": "Parse", "state": "done"},
        {"key": "2", "text": "Print", "state": "open"},
    ]


def test_a_compaction_is_seen_in_a_short_and_in_a_long_line() -> None:
    for history in ([], ["x" * 100_000]):
        line = codex("compacted", message="what was done", replacement_history=history)
        events = read(line)
        assert kinds(events) == ["compact", "summary"]
        assert events[1].text == "what was done"


def test_subagents_are_out_until_a_wait_names_their_end() -> None:
    begun = [
        function("1", "spawn_agent", message="Look for races"),
        output("1", '{"agent_id": "agent-77"}'),
        function("2", "wait_agent", targets=["agent-77"]),
    ]
    assert "agent_end" not in kinds(read(*begun, output("2", '{"status": {}}')))
    ended = read(*begun, output("2", '{"status":{"agent-77":{"completed":"none"}}}'))
    assert [event.id for event in ended if event.kind == "agent_end"] == ["1"]


def test_screen_events_that_repeat_items_are_passed_over() -> None:
    assert read(codex("event_msg", type="exec_command_end", call_id="1", stdout="x")) == []
    assert read(codex("event_msg", type="agent_message", message="hello")) == []


def test_two_objects_on_a_line_are_both_read() -> None:
    assert kinds(read(message("user", "one") + message("user", "two"))) == ["prompt", "prompt"]


def test_a_long_output_keeps_its_beginning_and_its_end() -> None:
    text = "Process exited with code 1\nOutput:\nfirst\n" + "é\\n" * 50_000 + "\nlast line"
    found = read(function("1", "exec_command", cmd="make"), output("1", text))[-1]
    assert found.failed is True
    assert found.text.startswith("first")
    assert found.text.endswith("last line")
    assert len(found.text) <= conversation.LONGEST_OUTPUT


def test_spaces_between_keys_make_no_difference() -> None:
    value = {"type": "response_item", "payload": {"type": "message", "role": "assistant"}}
    value["payload"]["content"] = [{"type": "output_text", "text": "hi"}]  # type: ignore[index]
    assert read(json.dumps(value).encode()) == read(packed(value))
    assert kinds(read(packed(value))) == ["said"]
