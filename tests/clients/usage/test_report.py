"""`holdfast guard report`: what was spent, by step, with its source and how sure it is."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from holdfast.kernel.text import split_words
from tests.cli.conftest import Holdfast
from tests.clients.usage.conftest import ONE_ANSWER, Home, answer, close_to, sample

REPORT = ("guard", "report")


def test_a_session_with_its_source_and_how_sure_it_is(home: Home, holdfast: Holdfast) -> None:
    home.claude(sample("claude.agent.main.jsonl"), "s-1")
    home.subagent(sample("claude.agent.subagent.jsonl"), "a15f61abff2c84a7c", "s-1")
    said = holdfast(*REPORT)
    assert said.code == 0
    assert "Claude Code s-1" in said.out
    assert "$0.0276  exact  Claude Code's own figure (cost-state)" in said.out
    assert "a15f61abff2c84a7c" in said.out
    data = holdfast(*REPORT, "--json").data
    assert data["cost"] == close_to(4 * ONE_ANSWER)
    assert data["sure"] == "exact"
    (session,) = data["sessions"]
    assert [part["name"] for part in session["subagents"]] == ["", "a15f61abff2c84a7c"]
    assert session["subagents"][1]["cost"] == close_to(ONE_ANSWER)


def test_the_steps_of_a_session_are_the_tasks_of_its_checkpoints(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.kernel import clock

    begin = clock.parse("2026-11-15T18:00:00Z")
    home.claude("".join(answer(number) for number in range(10)), "mine")
    for second, task in ((2, "Write the parser"), (6, "Test the parser")):
        monkeypatch.setattr(clock, "now", lambda at=begin + second * 1000 + 500: at)
        words = ("--session", "mine", "--task", task, "--skip-git", "--skip-tracker")
        assert holdfast("checkpoint", *words).code == 0
    (session,) = holdfast(*REPORT, "--session", "mine", "--json").data["sessions"]
    parts = [(part["name"], part["messages"]) for part in session["steps"]]
    assert parts == [("", 3), ("Write the parser", 4), ("Test the parser", 3)]
    assert sum(part["cost"] for part in session["steps"]) == close_to(10 * ONE_ANSWER)
    said = holdfast(*REPORT, "--session", "mine").out
    assert "before the first step" in said
    assert "Write the parser" in said


def test_an_agent_over_all_its_lives(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.kernel import clock

    begin = clock.parse("2026-11-15T18:00:00Z")

    def at(second: int) -> None:
        monkeypatch.setattr(clock, "now", lambda: begin + second * 1000 + 500)

    first = home.claude("".join(answer(number) for number in range(6)), "life-1")
    second = home.claude("".join(answer(number) for number in range(100, 103)), "life-2")
    at(-60)
    started = holdfast(
        *split_words("agent start Secondary-A --feature feature_01_x"),
        "--transcript",
        str(first),
    )
    assert started.code == 0, started.err
    at(2)
    assert holdfast("agent", "beat", "Secondary-A", "--step", "Writing criteria").code == 0
    at(90)
    resumed = holdfast("agent", "resume", "Secondary-A", "--yes", "--transcript", str(second))
    assert resumed.code == 0, resumed.err
    data = holdfast(*REPORT, "--agent", "Secondary-A", "--json").data
    assert [each["session"] for each in data["sessions"]] == ["life-1", "life-2"]
    assert data["cost"] == close_to(9 * ONE_ANSWER)
    steps = [(part["name"], part["messages"]) for part in data["sessions"][0]["steps"]]
    assert steps == [("Reading S2.P1 guide", 3), ("Writing criteria", 3)]
    assert data["sessions"][1]["steps"][0]["name"] == "Writing criteria"
    said = holdfast(*REPORT, "--agent", "Secondary-A")
    assert "Secondary-A: Claude Code life-1" in said.out
    assert "Sum" in said.out


def test_what_programs_reported_is_no_agents(home: Home, holdfast: Holdfast) -> None:
    path = home.claude(answer(1), "life")
    words = ("agent", "start", "Secondary-A", "--feature", "feature_01_x")
    assert holdfast(*words, "--transcript", str(path)).code == 0
    holdfast(*REPORT, "--add-cost", "1")
    data = holdfast(*REPORT, "--agent", "Secondary-A", "--json").data
    assert data["cost"] == close_to(ONE_ANSWER)
    assert data["reported"] is None
    assert "programs" not in holdfast(*REPORT, "--agent", "Secondary-A").out
    assert holdfast(*REPORT, "--agent", "Secondary-A", "--session", "life").code == 2


def test_an_agent_whose_transcript_nobody_named(home: Home, holdfast: Holdfast) -> None:
    assert holdfast("agent", "start", "Secondary-A", "--feature", "feature_01_x").code == 0
    said = holdfast(*REPORT, "--agent", "Secondary-A", "--json")
    assert said.code == 3
    assert said.envelope["error"]["kind"] == "no_transcript"
    assert holdfast(*REPORT, "--agent", "Secondary-B").code == 3


def test_programs_report_by_step(home: Home, holdfast: Holdfast) -> None:
    assert (
        holdfast(*REPORT, "--add-cost", "0.42", "--add-tokens", "1200", "--step", "crawl").code == 0
    )
    assert (
        holdfast(*REPORT, "--add-cost", "$1.50", "--error", "HTTP 500", "--step", "index").code == 0
    )
    assert holdfast(*REPORT, "--add-cost", "0.08").code == 0
    data = holdfast(*REPORT, "--json").data
    assert data["reported"] == {
        "cost": 2.0,
        "tokens": 1200,
        "errors": 1,
        "steps": {
            "crawl": {"cost": 0.42, "tokens": 1200, "errors": 0},
            "index": {"cost": 1.5, "tokens": 0, "errors": 1},
        },
    }
    assert data["cost"] == 2.0
    assert holdfast("guard", "check", "--json").data["values"]["cost"] == 2.0


def test_what_is_reported_comes_to_what_is_measured(home: Home, holdfast: Holdfast) -> None:
    home.claude(answer(1))
    holdfast(*REPORT, "--add-cost", "1")
    data = holdfast(*REPORT, "--json").data
    assert data["cost"] == close_to(1 + ONE_ANSWER)
    assert data["sure"] == "estimated"


def test_an_unknown_part_makes_the_sum_unknown_and_never_zero(
    home: Home, holdfast: Holdfast
) -> None:
    home.claude(answer(1, model="claude-of-tomorrow-9"))
    said = holdfast(*REPORT)
    assert "unknown" in said.out
    assert "claude-of-tomorrow-9" in said.out
    assert "$0" not in said.out
    holdfast(*REPORT, "--add-cost", "1")
    data = holdfast(*REPORT, "--json").data
    assert data["cost"] is None
    assert data["cost_at_least"] == 1
    assert data["sure"] == "unknown"
    assert "at least $1.00" in holdfast(*REPORT).out


def test_our_own_session_without_files_is_an_unknown_part(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "mine")
    holdfast(*REPORT, "--add-cost", "1")
    assert holdfast(*REPORT, "--json").data["cost"] is None


@pytest.mark.parametrize("amount", ["12,50", "nan", "inf", "-1", "1e3", "", "two"])
def test_amounts_that_are_none_are_refused(home: Home, holdfast: Holdfast, amount: str) -> None:
    said = holdfast(*REPORT, f"--add-cost={amount}")
    assert said.code == 2
    assert "--add-cost" in said.err
    assert holdfast(*REPORT, f"--add-tokens={amount}").code == 2
    assert holdfast(*REPORT, "--json").data["reported"]["cost"] is None


def test_a_step_alone_and_an_empty_error_are_refused(home: Home, holdfast: Holdfast) -> None:
    assert holdfast(*REPORT, "--step", "crawl").code == 2
    assert holdfast(*REPORT, "--error", " ").code == 2


def test_a_session_that_nobody_knows(home: Home, holdfast: Holdfast) -> None:
    assert holdfast(*REPORT, "--session", "nope").code == 3
    assert holdfast(*REPORT, "--session", "../nope").code == 2


def test_without_any_clients_files_it_says_so(home: Home, holdfast: Holdfast) -> None:
    said = holdfast(*REPORT)
    assert said.code == 0
    assert "No client's files were found: what was spent is unknown." in said.out


def test_the_status_line_is_taken_from_standard_input(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(sample("claude.statusline.json")))
    data = holdfast(*REPORT, "--status-line", "--json").data
    assert data["cost"] == close_to(ONE_ANSWER)
    assert data["sessions"][0]["context_percent"] == 0.16
    for wrong in ("", "[]", "{}", '{"session_id": "../x"}'):
        monkeypatch.setattr(sys, "stdin", io.StringIO(wrong))
        assert holdfast(*REPORT, "--status-line").code == 2


def test_escapes_in_what_clients_write_do_not_reach_the_terminal(
    home: Home, holdfast: Holdfast
) -> None:
    record = json.loads(answer(1, model="evil\x1b[31m-model"))
    error = {
        "type": "assistant",
        "uuid": "e",
        "isApiErrorMessage": True,
        "message": {"content": [{"text": "approved\x1b]0;owned\x07"}]},
    }
    home.claude(json.dumps(record) + "\n" + json.dumps(error) + "\n")
    said = holdfast(*REPORT)
    assert "\x1b" not in said.out
    assert "\x07" not in said.out


def test_a_secret_in_an_error_can_be_purged(
    home: Home, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = {
        "type": "assistant",
        "uuid": "e",
        "isApiErrorMessage": True,
        "message": {"content": [{"text": "refused: the-word-of-the-day"}]},
    }
    home.claude(answer(1) + json.dumps(error) + "\n")
    assert "the-word-of-the-day" in holdfast(*REPORT).out
    monkeypatch.setattr(sys, "stdin", io.StringIO("the-word-of-the-day"))
    assert holdfast("purge", "--matching", "--yes").code == 0
    assert "refused: [purged]" in holdfast(*REPORT).out
    for path in Path(home.workspace.home).glob("usage.db*"):
        assert b"the-word-of-the-day" not in path.read_bytes()


def test_a_compaction_that_stands_in_no_transcript_is_named(home: Home, holdfast: Holdfast) -> None:
    home.claude(sample("claude.compact.jsonl"), "mine")
    holdfast("checkpoint", "--session", "mine", "--task", "x", "--skip-git", "--skip-tracker")
    (session,) = holdfast(*REPORT, "--session", "mine", "--json").data["sessions"]
    assert session["elsewhere"] == close_to(0.013816)


def test_a_transcript_that_went_is_named(home: Home, holdfast: Holdfast) -> None:
    path: Path = home.claude(answer(1), "mine")
    holdfast(*REPORT, "--session", "mine")
    path.unlink()
    said = holdfast(*REPORT, "--session", "mine")
    assert "is gone; what it said stays counted" in said.out
    assert "$0.0069" in said.out
