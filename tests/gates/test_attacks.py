"""What a person decides, only a person undoes: each way around it that was tried, from an agent's own
environment and without a terminal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast as library
from holdfast.budgets import alerts
from holdfast.budgets.check import Budget
from holdfast.budgets.stop import SETTLED, put_back
from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.gates.person import at_page
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules import people as refusal
from holdfast.kernel import canonical_json, clock, latch
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.state import load
from holdfast.kernel.workspace import Workspace, discover
from tests import warm
from tests.cli.conftest import Holdfast
from tests.gates.person import Terminal

LOOK = ("gate", "verify", "--built", "Dashboard", "--how", "Cards show data", "--name", "dash")
PERSON: Any = {"name": "ada", "channel": "terminal", "terminal": "/dev/pts/1", "at": ""}


@pytest.fixture
def workspace(repository: Path) -> Workspace:
    return discover(str(repository))


def agent(*words: str, **environment: str) -> dict[str, Any]:
    """A command that an agent's tool runs: no terminal, and the variables of its client."""
    done = warm.run(
        [sys.executable, "-m", "holdfast", *words, "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        env={**os.environ, "CLAUDECODE": "1", **environment},
    )
    envelope: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**envelope, "code": done.returncode, "err": done.stderr}


def person(*words: str) -> str:
    terminal = Terminal(*words)
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    return seen.screen


def attempts(workspace: Workspace) -> list[str]:
    state: refusal.PeopleState = load(workspace.journal, refusal, refusal.STREAM)[0]
    return [one["purpose"] for one in state["latest"]]


def left_in_inbox(root: Path, stream: str, command: dict[str, Any]) -> Path:
    folder = root / ".holdfast" / "inbox"
    folder.mkdir(parents=True, exist_ok=True)
    at = clock.precise(clock.now())
    queued = {"id": os.urandom(16).hex(), "stream": stream, "command": command}
    path = folder / f"{queued['id']}.json"
    text = canonical_json.dumps({**queued, "actor": "ada", "fence": None, "at": at})
    path.write_text(text)
    return path


# The emergency stop


def test_an_agent_does_not_lift_the_emergency_stop(
    holdfast: Holdfast, workspace: Workspace
) -> None:
    assert holdfast("estop", "--reason", "too expensive").code == 0
    refused = agent("release")
    assert (refused["code"], refused["error"]["kind"]) == (4, "no_person")
    with library.open() as opened, pytest.raises(NotAllowed):
        opened.release("please")
    assert attempts(workspace) == ["lift the emergency stop"] * 2
    assert latch.read(workspace) is not None
    assert "Released" in person("release", "--reason", "paid")
    assert latch.read(workspace) is None
    (record,) = workspace.journal.latest(stream="stop:workspace", limit=1)
    assert (record["kind"], record["body"]["person"]["channel"]) == ("released", "terminal")
    assert holdfast("release").out == "There was no stop.\n"


def test_a_file_in_the_inbox_lifts_no_stop(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast("estop").code == 0
    command = {"do": "release", "reason": "over", "by": PERSON}
    path = left_in_inbox(Path(workspace.root), "stop:workspace", command)
    assert holdfast("note", "A process that can write takes the inbox in.").code == 0
    assert not path.exists()
    assert path.with_name(f"{path.name}.refused").exists()
    assert latch.read(workspace) is not None
    assert agent("guard", "check")["code"] == 7


def test_a_latch_that_was_removed_is_set_again_recorded_and_told(
    holdfast: Holdfast, workspace: Workspace
) -> None:
    assert holdfast("estop", "--reason", "too expensive").code == 0
    os.unlink(latch.places(workspace)[0])
    answer = holdfast("status")
    assert "The file of the emergency stop was removed" in answer.err
    held = latch.read(workspace)
    assert held is not None
    assert held["reason"] == "too expensive"
    assert "All quiet" not in answer.out
    assert "A program tried to lift the emergency stop" in answer.out
    assert attempts(workspace) == ["lift the emergency stop"]
    assert "was removed" not in holdfast("status").err, "said once"


def test_another_home_of_the_agents_choice_is_under_the_same_stop(
    holdfast: Holdfast, workspace: Workspace, tmp_path: Path
) -> None:
    assert holdfast("estop").code == 0
    asked = agent(*LOOK, HOLDFAST_HOME=str(tmp_path / "elsewhere"))
    assert asked["code"] == 7


# Budgets


def test_a_reported_figure_ends_no_alert(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 8
    for words in (
        ("--cost", "0", "--session", "s1"),
        ("--cost", "0"),
        ("--cost", "0", "--context", "0", "--errors", "0", "--session", "s1"),
    ):
        assert agent("guard", "check", *words)["code"] == 8, words
    checked = agent("guard", "check", "--cost", "3", "--session", "s1")
    assert checked["data"]["values"]["cost"] == 26
    assert "cost" in alerts.read(workspace, "s1")
    assert list(Budget(workspace, actor="x").state()["pending"]) == ["cost"]


def test_an_inbox_ends_no_alert(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 8
    state = Budget(workspace, actor="x").state()
    command = {
        "do": "check",
        "values": {"cost": 0.0, "context": 0.0, "variance": None, "errors": 0},
        "limits": {level: {**row, "cost": 1e9} for level, row in state["limits"].items()},
        "flags": {},
        "actions": {level: dict.fromkeys(row, "") for level, row in state["limits"].items()},
        "session": "s1",
        "place": {"phase": None, "plan": None, "last_task_completed": None, "next_task": None},
        "started_at": "",
        "checkpoint_at": "",
        "pause": 1 << 40,
        "last_turn": False,
    }
    left_in_inbox(Path(workspace.root), "budget:default", command)
    for do in ({"do": "ack", "type": "cost"}, {"do": "reset"}):
        forged = {**do, "until": None, "session": "s1", "by": PERSON}
        left_in_inbox(Path(workspace.root), "budget:default", forged)
    assert holdfast("note", "takes the inbox in").code == 0
    assert list(Budget(workspace, actor="x").state()["pending"]) == ["cost"]
    assert holdfast("guard", "check", "--session", "s1").code == 8


def test_a_reset_by_an_agent_ends_no_alert(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 8
    reset = agent("guard", "reset")
    assert reset["code"] == 0, "anybody may let alerts ask again"
    assert list(Budget(workspace, actor="x").state()["pending"]) == ["cost"]
    assert agent("guard", "check", "--cost", "0", "--session", "s1")["code"] == 8
    assert "still waits" in holdfast("guard", "reset").out


def test_a_limit_that_is_raised_while_an_alert_waits_does_not_end_it(
    holdfast: Holdfast, workspace: Workspace, tmp_path: Path
) -> None:
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 8
    config = Path(workspace.root) / ".autopilot" / "config.yaml"
    config.write_text("thresholds: {alert: {cost: $900}, stop: {cost: $999}}\n")
    assert agent("guard", "check", "--cost", "26", "--session", "s1")["code"] == 8
    config.unlink()
    own = tmp_path / "mine" / "autopilot"
    own.mkdir(parents=True)
    (own / "config.json").write_text('{"alertCost": 900, "maxCost": 999}')
    environment = {"CLAUDE_CONFIG_DIR": str(own.parent)}
    assert agent("guard", "check", "--session", "s1", **environment)["code"] == 8


def test_alerts_that_were_removed_are_put_back(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast("guard", "check", "--cost", "26", "--session", "s1").code == 8
    shutil.rmtree(Path(workspace.home) / alerts.FOLDER)
    later = clock.now() + 2 * SETTLED
    assert put_back(workspace, now=later) == ["the alert of cost"]
    assert "cost" in alerts.read(workspace, "s1")
    assert attempts(workspace) == ["lift the alert of cost"]
    assert "tried to lift the alert of cost" in holdfast("status").out
    assert put_back(workspace, now=later) == []


def test_a_budgets_stop_whose_latch_was_removed_holds(
    holdfast: Holdfast, workspace: Workspace
) -> None:
    assert holdfast("guard", "check", "--cost", "52").code == 7
    os.unlink(latch.places(workspace)[0])
    assert agent(*LOOK)["code"] == 7
    assert attempts(workspace) == ["lift the budget's stop"]


# Going back in time


def test_no_agent_restores_a_decision(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast("guard", "check", "--cost", "1").code == 0
    (before,) = workspace.journal.latest(stream="budget:default", limit=1)
    assert holdfast("guard", "check", "--cost", "52").code == 7
    assert holdfast("estop", "--reason", "enough").code == 0
    for id in (before["id"], workspace.journal.latest(stream="stop:workspace", limit=1)[0]["id"]):
        refused = agent("restore", id)
        shown = holdfast("show", id, "--json").data["record"]
        if shown["stream"] == "budget:default":
            assert (refused["code"], refused["error"]["kind"]) == (4, "no_person")
    assert "restore budget:default" in attempts(workspace)
    assert agent("guard", "check")["code"] == 7


def test_no_agent_purges_or_collects_a_decision(
    holdfast: Holdfast, workspace: Workspace, repository: Path
) -> None:
    assert holdfast("estop", "--reason", "enough").code == 0
    assert agent("release")["code"] == 4
    (stop,) = workspace.journal.latest(stream="stop:workspace", limit=1)
    (attempt,) = workspace.journal.latest(stream=refusal.STREAM, limit=1)
    for record in (stop, attempt):
        assert agent("purge", record["id"], "--yes")["code"] == 4
        assert workspace.journal.find(record["id"])[0]["body"] is not None
    (repository / "holdfast.toml").write_text("[retention]\ndays = 0\nkeep = 0\n")
    assert holdfast("note", "old").code == 0
    assert agent("gc")["code"] == 0
    assert workspace.journal.read("stop:workspace")
    assert len(workspace.journal.read(refusal.STREAM)) == 3
    assert agent("gc", "--decisions")["code"] == 4
    person("gc", "--decisions")
    assert len(workspace.journal.read(refusal.STREAM)) == 4, "refusals outlive every retention"


def test_no_agent_restores_a_backup_over_a_decision(
    holdfast: Holdfast, workspace: Workspace, tmp_path: Path
) -> None:
    assert holdfast("note", "before").code == 0
    copy = str(tmp_path / "copy.db")
    assert holdfast("backup", copy).code == 0
    assert holdfast("estop", "--reason", "enough").code == 0
    os.unlink(latch.places(workspace)[0])
    refused = agent("backup", copy, "--restore")
    assert (refused["code"], refused["error"]["kind"]) == (4, "no_person")
    assert latch.read(workspace) is not None, "and the latch is there again"


# Gates


def test_no_agent_withdraws_a_question(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast(*LOOK).code == 0
    refused = agent("gate", "withdraw", "dash", "--reason", "no need", HOLDFAST_ACTOR="tester")
    assert refused["code"] == 4
    left_in_inbox(
        Path(workspace.root), "gate:dash", {"do": "withdraw", "why": "x", "person": PERSON}
    )
    assert holdfast("note", "takes the inbox in").code == 0
    assert [one["id"] for one in lookup.open_gates(workspace)] == ["dash"]
    assert "withdraw gate dash" in attempts(workspace)


def test_five_lines_of_python_answer_nothing(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast(*LOOK).code == 0
    program = """
    from holdfast.gates.answer import AnswerRequest, answer
    from holdfast.gates.lookup import GateContext
    from holdfast.kernel.workspace import discover
    person = {"name": "ada", "channel": "terminal", "terminal": "/dev/pts/1", "at": "2026-11-15T12:00:00Z"}
    answer(GateContext(discover(), "ada", 1), AnswerRequest(gate="dash", text="approved", person=person))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True
    )
    assert "Only a person may answer gate dash" in done.stderr
    assert rules.is_open(lookup.read(workspace, "dash"))
    assert attempts(workspace) == ["answer gate dash"]


def test_a_person_of_the_page_is_none_in_an_agents_environment(
    holdfast: Holdfast, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert holdfast(*LOOK).code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    request = AnswerRequest(
        gate="dash", text="approved", person=at_page("/dev/pts/1", now=clock.now())
    )
    with pytest.raises(NotAllowed):
        answer(GateContext(workspace, "x", clock.now()), request)
    assert rules.is_open(lookup.read(workspace, "dash"))


def test_a_row_of_the_snapshots_answers_no_gate(holdfast: Holdfast, workspace: Workspace) -> None:
    assert holdfast(*LOOK).code == 0
    assert holdfast("verify").code == 0
    answered = {**lookup.read(workspace, "dash"), "answer": {"verdict": "yes", "answer": "x"}}
    workspace.close()
    connection = apsw.Connection(workspace.journal_path)
    (number, version) = connection.execute(
        "SELECT number, version FROM streams WHERE name = 'gate:dash'"
    ).fetchone() or (0, 0)
    connection.execute(
        "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)",
        (number, version, canonical_json.dumps(answered)),
    )
    connection.close()
    assert rules.is_open(lookup.read(discover(workspace.root), "dash")), "it is not believed"
    assert holdfast("gate", "wait", "dash", "--timeout", "0").code == 8
    found = holdfast("verify")
    assert found.code == 1
    assert "the snapshot of gate:dash does not follow from its records" in found.out
