"""Claude Code's transcript lines become events."""

from __future__ import annotations

from holdfast.clients import conversation
from holdfast.clients.claude import transcript as claude_transcript
from tests.clients.transcripts.lines import AT, CWD, call, claude, events_of, kinds, packed, result


def read(*lines: bytes, size: int = 0) -> list[conversation.SessionEvent]:
    return events_of(claude_transcript, *lines, size=size)


def test_a_turn_becomes_prompt_words_call_and_result() -> None:
    events = read(
        claude("user", "Fix the basket total."),
        claude("assistant", [{"type": "text", "text": "I look at the basket."}]),
        call("t1", "Bash", command="pytest tests/basket"),
        result("t1", "Exit code 1\nE  assert 3 == 4", failed=True),
    )
    assert [event.kind for event in events] == ["place", "prompt", "said", "run", "result"]
    assert events[0].path == CWD
    assert events[1].text == "Fix the basket total."
    assert events[1].at == AT
    assert events[3].text == "pytest tests/basket"
    assert (events[4].id, events[4].failed) == ("t1", True)


def test_edits_reads_and_searches_name_their_file() -> None:
    events = read(
        call("1", "Read", file_path=f"{CWD}/src/basket.py"),
        call("2", "Grep", pattern="def total_of", path="src"),
        call("3", "Edit", file_path=f"{CWD}/src/basket.py", old_string="a", new_string="b"),
        call("4", "Write", file_path=f"{CWD}/src/tax.py", content="RATE = 1"),
        call("5", "MultiEdit", file_path="x.py", edits=[{"old_string": "c", "new_string": "d"}]),
    )
    assert kinds(events) == ["read", "search", "edit", "edit", "edit"]
    edits = [event for event in events if event.kind == "edit"]
    assert [(edit.text, edit.change) for edit in edits] == [
        ("a\nb", "edited"),
        ("RATE = 1", "created"),
        ("c\nd", "edited"),
    ]


def test_a_subagents_lines_are_not_the_sessions() -> None:
    assert read(claude("user", "sub task", isSidechain=True)) == []


def test_what_the_client_wrote_in_the_persons_name_is_no_prompt() -> None:
    assert (
        kinds(
            read(
                claude("user", "Some instructions of a skill.", isMeta=True),
                claude("user", "<local-command-stdout>ok</local-command-stdout>"),
                claude("user", "[Request interrupted by user]"),
                claude("user", "<command-name>/clear</command-name><command-args></command-args>"),
            )
        )
        == []
    )


def test_a_slash_command_with_words_is_a_prompt() -> None:
    text = "<command-name>/review</command-name><command-args>the basket</command-args>"
    assert [event.text for event in read(claude("user", text))[1:]] == ["/review the basket"]


def test_a_reminder_inside_a_prompt_is_left_out() -> None:
    text = "Go on.<system-reminder>never mind</system-reminder>"
    assert read(claude("user", text))[-1].text == "Go on."


def test_a_block_that_stands_there_again_counts_once() -> None:
    text = claude("assistant", [{"type": "text", "text": "Done."}])
    run = call("t1", "Bash", command="make")
    assert kinds(read(text, run, text, run)) == ["said", "run"]


def test_compaction_and_summary_are_told_apart_from_prompts() -> None:
    events = read(
        packed({"type": "system", "subtype": "compact_boundary", "timestamp": AT}),
        claude("user", "This session is being continued", isCompactSummary=True),
    )
    assert kinds(events) == ["compact", "summary"]


def test_the_tasks_of_both_tools_are_read() -> None:
    events = read(
        call("1", "TodoWrite", todos=[{"content": "Parser", "status": "in_progress"}]),
        call("2", "TaskCreate", subject="Renderer", description="..."),
        result("2", "Task #7 created successfully: Renderer"),
        call("3", "TaskUpdate", taskId="7", status="completed"),
    )
    assert [event.tasks for event in events if event.kind in ("tasks", "task")] == [
        [{"key": "1", "text": "Parser", "state": "active"}],
        [{"key": "#7", "text": "Renderer", "state": "open"}],
        [{"key": "#7", "text": "", "state": "done"}],
    ]


def test_answers_come_from_the_details_or_from_the_text() -> None:
    asked = call("q", "AskUserQuestion", questions=[])
    details = {"answers": {"Which store?": "SQLite"}}
    spelled = 'Your questions were answered: "Which store?"="Files"'
    for line, answer in (
        (result("q", "ok", toolUseResult=details), "SQLite"),
        (result("q", spelled), "Files"),
    ):
        found = [event for event in read(asked, line) if event.kind == "answer"]
        assert [(one.about, one.text) for one in found] == [("Which store?", answer)]


def test_a_refused_call_has_not_failed_and_the_words_are_kept() -> None:
    text = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, "
        "the user said:\nuse the other table"
    )
    events = read(call("1", "Bash", command="rm -rf x"), result("1", text, failed=True))
    (ended,) = [event for event in events if event.kind == "result"]
    assert (ended.failed, ended.end, ended.text) == (None, "refused", "use the other table")


def test_a_subagent_in_the_background_is_out_until_its_notice() -> None:
    notice = (
        "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>1</tool-use-id>\n"
        "<status>completed</status>\n</task-notification>"
    )
    begun = [
        call("1", "Agent", description="Look for dead code", prompt="..."),
        result("1", "launched", toolUseResult={"isAsync": True, "agentId": "a1"}),
    ]
    assert "agent_end" not in kinds(read(*begun))
    queued = packed({"type": "queue-operation", "timestamp": AT, "content": notice})
    ended = read(*begun, queued, claude("user", notice))
    assert kinds(ended).count("agent_end") == 1


def test_a_long_result_is_read_without_its_middle() -> None:
    text = "first_name_of_file\n" + "x" * 2_000_000
    events = read(call("1", "Bash", command="cat big"), result("1", text))
    assert events[-1].failed is False
    assert events[-1].text.startswith("first_name_of_file\nxxx")
    assert len(events[-1].text) < 16_000


def test_the_end_of_a_long_error_is_kept() -> None:
    text = "x" * 100_000 + "\nE  the reason"
    events = read(call("1", "Bash", command="make"), result("1", text, failed=True))
    assert events[-1].text.endswith("the reason")


def test_skimming_keeps_prompts_and_tasks_and_counts_calls() -> None:
    lines = [
        claude("user", "The first request."),
        call("1", "TodoWrite", todos=[{"content": "Parser", "status": "pending"}]),
        call("2", "Bash", command="make"),
        result("2", "ok"),
    ]
    events = read(*lines, size=1 << 30)
    assert kinds(events) == ["prompt", "tasks", "call"]


def test_skimming_follows_every_change_of_a_task() -> None:
    changes = [
        call("3", "TaskUpdate", taskId="1", status="in_progress"),
        call("4", "TaskUpdate", taskId="1", status="completed"),
        call("5", "TaskUpdate", taskId="2", status="in_progress", subject="Renderer"),
    ]
    skimmed = read(*changes, size=1 << 30)
    assert kinds(skimmed) == kinds(read(*changes)) == ["call", "task"] * 3
    tasks = [event.tasks for event in skimmed if event.kind == "task"]
    assert tasks == [event.tasks for event in read(*changes) if event.kind == "task"]
