"""Each tool does what its verb does, in both eras, and says what went wrong as the verb does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from holdfast.kernel.workspace import discover
from holdfast.rfc.rules.transitions import TRANSITIONS
from holdfast.session import checkpoint
from tests.cli.conftest import Holdfast
from tests.mcp.world import DASHBOARD, ERAS, STORE, TOOLS, Face

WORK = {
    "issue": "ENG-12",
    "title": "Parse dates",
    "task": "Write the parser",
    "status": "half done",
    "done": ["Read the issue"],
    "remaining": ["Write the docs"],
    "decisions": ["ISO 8601: the others are ambiguous"],
    "next": "finish parse_date",
    "files": ["src/dates.py"],
}
ANSWERS = """### User Intent Signals
- Speed before features
- No new dependency
- Firm about SQLite
### Scan Insights
- Writers share one lock
- Readers never wait
### Active Tensions
- Fast hooks against full redaction
"""


def begin(holdfast: Holdfast, feature: str = "feature_01_dates") -> None:
    assert holdfast("agent", "start", "Secondary-A", "--feature", feature).code == 0


# What there is


def test_the_tools_are_these(either: Face) -> None:
    async def talk(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert either.with_client(talk) == TOOLS


@pytest.mark.parametrize("era", ERAS)
def test_without_a_workspace_it_starts_and_says_so(tmp_path: Path, era: str) -> None:
    face = Face(tmp_path, era)
    for tool in TOOLS:
        needs: dict[str, Any] = {
            "agent": {"do": "unblock", "agent": "Secondary-A"},
            "beat": {"agent": "Secondary-A"},
            "inbox": {"agent": "Secondary-A"},
            "step": {"do": "show"},
            "reason": {"do": "bootstrap"},
            "gate_open": DASHBOARD,
        }
        answer = face.call(tool, needs.get(tool, {}))
        assert answer.error["kind"] == "no_workspace", tool
        assert "git init" in answer.text

    async def talk(client: Client) -> set[str]:
        return {str(one.uri) for one in (await client.list_resources()).resources}

    assert face.with_client(talk) == {
        f"holdfast://{name}" for name in ("status", "history", "conflicts")
    }


# Sessions


def test_a_checkpoint_is_what_the_next_one_resumes(either: Face, repository: Path) -> None:
    answer = either.call("checkpoint", WORK)

    assert not answer.failed
    assert answer.text.startswith("Checkpoint complete: 4/4 steps succeeded.")
    assert "Next action: finish parse_date." in answer.text
    assert "**Issue:** ENG-12" in (repository / ".ccc-progress.md").read_text("utf-8")
    resumed = either.call("resume")
    assert resumed.data["verdict"] == "CLEAN"
    assert resumed.text.startswith("Holdfast: CLEAN. ")
    assert "ISO 8601" in resumed.text
    assert resumed.data["session"] == answer.data["session"]


def test_what_is_left_out_stays_and_an_empty_list_clears(face: Face) -> None:
    face.call("checkpoint", {**WORK, "blockers": ["The key (unblocked by: the mail)"]})
    face.call("checkpoint", {"status": "done", "session": None})
    assert "unblocked by: the mail" in face.call("resume").text
    face.call("checkpoint", {"blockers": []})
    assert "unblocked by" not in face.call("resume").text


def test_another_issue_is_foreign_until_that_is_accepted(face: Face) -> None:
    face.call("checkpoint", WORK)
    refused = face.call("resume", {"issue": "ENG-99"})
    assert refused.error["kind"] == "foreign"
    assert "FOREIGN" in face.call("resume", {"issue": "ENG-99", "accept_foreign": True}).text


def test_the_pack_fits(face: Face) -> None:
    face.call("checkpoint", {**WORK, "done": [f"Step {number}" for number in range(300)]})
    assert len(face.call("resume", {"characters": 900}).data["pack"]) <= 900


# Agents


def test_a_heartbeat_is_in_the_agents_file(either: Face, holdfast: Holdfast) -> None:
    begin(holdfast)
    answer = either.call(
        "beat",
        {"agent": "Secondary-A", "step": "Parsing", "done": ["Read"], "files": ["README.md"]},
    )
    assert answer.text.startswith("Checkpoint updated")
    saved = json.loads(Path("agent_checkpoints/secondary_a.json").read_text("utf-8"))
    assert saved["current_step"] == "Parsing"
    assert saved["completed_steps"][-1] == "Read"
    assert saved["files_modified"] == ["README.md"]


def test_a_life_that_was_taken_over_is_refused(face: Face, holdfast: Holdfast) -> None:
    begin(holdfast)
    holdfast("agent", "resume", "Secondary-A", "--yes")
    answer = face.call("beat", {"agent": "Secondary-A", "fence": 1, "step": "Late"})
    assert answer.error["kind"] == "fence_lost"
    assert "Stop here" in answer.error["hint"]


def test_messages_are_read_once(either: Face, holdfast: Holdfast) -> None:
    begin(holdfast)
    holdfast("agent", "send", "Secondary-A", "--subject", "Look at dates", "--details", "Now")
    kept = either.call("inbox", {"agent": "Secondary-A", "keep_unread": True})
    first = either.call("inbox", {"agent": "Secondary-A"})
    again = either.call("inbox", {"agent": "Secondary-A"})
    assert (kept.data["unread"], first.data["unread"], again.data["unread"]) == (1, 1, 0)
    assert "Look at dates" in first.text
    assert again.text == "No unread message."
    assert "Look at dates" in either.call("inbox", {"agent": "Secondary-A", "every": True}).text


# Tracks


def plan(repository: Path, boxes: str) -> None:
    folder = repository / "conductor" / "tracks" / "dates"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.md").write_text(boxes, "utf-8")


def test_a_track_goes_on_at_the_exact_task(either: Face, repository: Path) -> None:
    plan(repository, "- [ ] 1.1 Parse\n- [ ] 1.2 Render\n- [ ] 1.3 Test\n")
    started = either.call("step", {"do": "start", "step": "EXECUTE"})
    assert started.data["status"] == "IN_PROGRESS"
    done = either.call("step", {"do": "task_done", "task": "1.1", "commit": "abc1234"})
    again = either.call("step", {"do": "task_done", "task": "1.1"})
    assert (done.data["duplicate"], again.data["duplicate"]) == (False, True)
    shown = either.call("step", {"do": "show"})
    assert shown.data["next_task"] == "1.2"
    assert "Next task: 1.2 Render (2 of 3 open)." in shown.text


def test_a_step_passes_fails_blocks_and_advances(face: Face, repository: Path) -> None:
    plan(repository, "- [x] 1.1 Parse\n")
    face.call("step", {"do": "start", "step": "PLAN"})
    face.call("step", {"do": "progress", "progress": {"current_phase": 1, "total_phases": 2}})
    passed = face.call("step", {"do": "pass", "notes": "A plan", "outputs": ["plan.md"]})
    assert passed.data["status"] == "PASSED"
    assert "There is no file plan.md" in passed.text
    assert face.call("step", {"do": "advance"}).data["current_step"] != "PLAN"
    face.call("step", {"do": "start", "step": "EVALUATE_PLAN"})
    blocked = face.call("step", {"do": "block", "reason": "No key"})
    assert "Orchestrator Paused" in blocked.text
    assert "holdfast loop" in blocked.text


# Gates


def test_a_gate_waits_until_a_person_answers(either: Face, holdfast: Holdfast) -> None:
    opened = either.call("gate_open", DASHBOARD)
    assert "holdfast gate answer dashboard" in opened.text
    assert either.call("gate_open", DASHBOARD).data["again"]
    waiting = either.call("gate_status", {"gate": "dash"})
    assert waiting.data["status"] == "waiting"
    assert not waiting.failed
    assert 'dashboard: "User Dashboard" (waits for a person)' in either.call("gate_status").text
    assert holdfast("gate", "show", "dashboard").code == 0


def test_what_a_machine_can_do_is_no_gate(face: Face) -> None:
    answer = face.call(
        "gate_open",
        {"kind": "verify", "title": "Server", "items": ["Run npm install and start the server"]},
    )
    assert answer.error["kind"] == "gate_refused"
    assert answer.error["hint"]


def test_silence_is_an_answer_where_the_gate_says_so(face: Face) -> None:
    face.call("gate_open", {**STORE, "expires": "1s", "default": "lite"})
    from holdfast.gates import lookup
    from holdfast.kernel import clock

    workspace = discover()
    lookup.read_now(workspace, "store", now=clock.now() + 2000)
    workspace.close()
    answer = face.call("gate_status", {"gate": "store"})
    assert answer.data["status"] == "yes"
    assert "its expiry, no person answered" in answer.text


# Budgets


def test_a_budget_says_go_wait_and_stop(either: Face) -> None:
    verdicts = [either.call("guard", {"cost": cost}).data["verdict"] for cost in (1, 30, 60)]
    assert verdicts == ["go", "wait", "stop"]
    assert either.call("guard").text.startswith("stop:")


def test_what_a_program_spent_is_added(face: Face) -> None:
    face.call("guard", {"add_cost": 0.5, "add_tokens": 10, "error": "It broke"})
    answer = face.call("guard", {"add_cost": 1.25})
    assert answer.data["values"]["cost"] == 1.75
    assert answer.data["values"]["errors"] == 1


# RFCs


def test_reasoning_is_asked_for_written_and_read(either: Face, holdfast: Holdfast) -> None:
    holdfast("rfc", "init", "dates")
    assert (
        "USER INTENT SIGNALS"
        in either.call("reason", {"do": "questions", "group": "discover"}).text
    )
    written = either.call("reason", {"do": "write", "group": "discover", "answers": ANSWERS})
    assert written.text.startswith("Wrote dates checkpoint version 1")
    moved = either.call("reason", {"do": "transition", "transition": "discover-design"})
    assert moved.text.startswith("dates: discover to design.")
    assert "Firm about SQLite" in either.call("reason", {"do": "bootstrap"}).text


def test_the_transitions_in_the_description_are_the_protocols(face: Face) -> None:
    async def talk(client: Client) -> str:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        return str(tools["reason"].input_schema["properties"]["transition"])

    described = face.with_client(talk)
    assert all(name in described for name in TRANSITIONS)


# What goes wrong


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("checkpoint", {"issue": "not an issue; rm -rf x"}, "bad_issue"),
        ("checkpoint", {"files": ["."]}, "usage"),
        ("checkpoint", {"done": [" "]}, "usage"),
        ("checkpoint", {"reason": "boredom"}, "usage"),
        ("checkpoint", {"session": "../../x"}, "usage"),
        ("resume", {"session": "no-such"}, "not_found"),
        ("resume", {}, "not_found"),
        ("resume", {"characters": 1}, "usage"),
        ("beat", {"agent": "Secondary-A"}, "not_found"),
        ("beat", {"agent": "../evil"}, "usage"),
        ("beat", {"agent": "Secondary-A", "epic": "nowhere"}, "not_found"),
        ("step", {"do": "show"}, "not_found"),
        ("step", {"do": "show", "track": "../evil"}, "usage"),
        ("step", {"do": "start", "track": "t"}, "usage"),
        ("step", {"do": "start", "track": "t", "step": "DANCE"}, "usage"),
        ("step", {"do": "progress", "track": "t", "progress": {"mood": "good"}}, "usage"),
        ("step", {"do": "dance"}, "usage"),
        ("gate_open", {"kind": "verify", "title": "x"}, "usage"),
        ("gate_open", {**STORE, "options": []}, "gate_refused"),
        ("gate_open", {**STORE, "name": "../evil"}, "usage"),
        ("gate_open", {**STORE, "expires": "soon", "default": "pg"}, "usage"),
        ("gate_open", {"kind": "act", "title": "x", "why": "y"}, "gate_refused"),
        ("gate_status", {"gate": "no-such"}, "not_found"),
        ("gate_status", {"gate": "../evil"}, "usage"),
        ("guard", {"cost": -1}, "usage"),
        ("guard", {"cost": "lots"}, "usage"),
        ("guard", {"error": " "}, "usage"),
        ("guard", {"session": "../../x"}, "usage"),
        ("inbox", {"agent": "nobody"}, "usage"),
        ("inbox", {}, "usage"),
        ("reason", {"do": "questions"}, "usage"),
        ("reason", {"do": "bootstrap"}, "not_found"),
        ("reason", {"do": "bootstrap", "rfc": "../evil"}, "usage"),
        ("reason", {"do": "write", "group": "discover", "answers": "x" * 2_000_000}, "usage"),
        ("beat", {"agnt": "Secondary-A"}, "usage"),
        ("dance", {}, "not_found"),
    ],
)
def test_an_error_names_its_kind_and_a_way_out(
    face: Face, tool: str, arguments: dict[str, Any], kind: str
) -> None:
    answer = face.call(tool, arguments)
    assert answer.failed
    assert answer.error["kind"] == kind, answer.text
    assert answer.error["message"] in answer.text
    assert answer.error["hint"], answer.text
    assert f"hint: {answer.error['hint']}" in answer.text
    assert "Traceback" not in answer.text
    assert "pydantic" not in answer.text


def test_a_bug_is_said_and_ends_nothing(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(checkpoint, "checkpoint", broken)
    answer = face.call("checkpoint", WORK)
    assert answer.error["kind"] == "bug"
    assert not face.call("guard").failed


def test_an_answer_is_not_endless(face: Face, holdfast: Holdfast) -> None:
    begin(holdfast)
    for _ in range(4):
        holdfast("agent", "send", "Secondary-A", "--subject", "Long", "--details", "x " * 8000)
    answer = face.call("inbox", {"agent": "Secondary-A"})
    assert len(answer.text) < 41_000
    assert "more characters" in answer.text
