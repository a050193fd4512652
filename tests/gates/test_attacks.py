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
from holdfast.budgets.rules import budget as budget_rules
from holdfast.budgets.stop import SETTLED
from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as rules
from holdfast.journal.interface import Append
from holdfast.journal.sqlite_rows import reseal_snapshot
from holdfast.kernel import canonical_json, clock, latch
from holdfast.kernel.errors import FenceLost, NotAllowed
from holdfast.kernel.state import ATTEST_EVERY, load, load_folded
from holdfast.kernel.workspace import Workspace, discover
from holdfast.maintenance import purge
from holdfast.people.removed_stops import restore
from holdfast.people.rules import people as refusal
from holdfast.testing.journal.examples import draft
from tests import warm
from tests.cli.conftest import Holdfast
from tests.gates.person import Terminal, at_page

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
    assert restore(workspace, now=later) == ["the alert of cost"]
    assert "cost" in alerts.read(workspace, "s1")
    assert attempts(workspace) == ["lift the alert of cost"]
    assert "tried to lift the alert of cost" in holdfast("status").out
    assert restore(workspace, now=later) == []


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
        "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, NULL)",
        (number, version, canonical_json.dumps(answered)),
    )
    reseal_snapshot(connection, number)
    connection.close()
    assert rules.is_open(lookup.read(discover(workspace.root), "dash")), "it is not believed"
    assert holdfast("gate", "wait", "dash", "--timeout", "0").code == 8
    found = holdfast("verify")
    assert found.code == 1
    assert "the snapshot of gate:dash does not follow from its records" in found.out


# Snapshots and fences


def forge(workspace: Workspace, sql: str, *values: Any) -> None:
    """What a program with the journal's file does, past holdfast."""
    workspace.journal.close()
    connection = apsw.Connection(workspace.journal_path)
    connection.execute(sql, values).fetchall()
    connection.close()


def forge_snapshot(workspace: Workspace, stream: str, state: Any) -> None:
    """A false state with a digest that fits, as a program can write it."""
    forge(
        workspace,
        "UPDATE snapshots SET state = ? WHERE stream = (SELECT number FROM streams WHERE name = ?)",
        canonical_json.dumps(state),
        stream,
    )
    connection = apsw.Connection(workspace.journal_path)
    numbers = connection.execute("SELECT number FROM streams WHERE name = ?", (stream,)).fetchall()
    reseal_snapshot(connection, int(str(numbers[0][0])))
    connection.close()


@pytest.mark.parametrize("count", [200, 6000])
def test_a_row_of_the_snapshots_lifts_no_stop_of_a_long_budget(
    holdfast: Holdfast, workspace: Workspace, count: int
) -> None:
    """However many records there are, the state follows from them."""
    added = [draft({"cost": 0.001}, kind="added") for _ in range(count)]
    assert holdfast("guard", "check", "--cost", "0").code == 0
    journal = workspace.journal
    journal.commit([Append("budget:default", added, expected=None)])
    assert holdfast("guard", "check", "--cost", "60", "--session", "s1").code == 7
    before = load(journal, budget_rules, "budget:default")[0]
    assert before["stopped"] is not None
    assert journal.load("budget:default")["snapshot"] == before, "its digest is in the chain"
    forge_snapshot(workspace, "budget:default", {**before, "stopped": None, "pending": {}})
    opened = discover(workspace.root)
    assert load(opened.journal, budget_rules, "budget:default")[0] == before
    assert agent("guard", "check", "--cost", "0")["code"] == 7
    found = holdfast("verify")
    assert (found.code, "snapshot of budget:default does not follow" in found.out) == (1, True)


def test_a_long_budget_is_read_from_an_attested_snapshot(
    holdfast: Holdfast, workspace: Workspace
) -> None:
    """Otherwise each hook would read all of its records."""
    budget = Budget(workspace, actor="x")
    for position in range(3 * ATTEST_EVERY):
        budget.execute({"do": "add", "cost": 0.001}, now=clock.now() + position)
    state, _, folded = load_folded(workspace.journal, budget_rules, "budget:default")
    assert len(folded) < ATTEST_EVERY
    assert state["added"]["cost"] == 3 * ATTEST_EVERY * 1000
    kinds = [one["kind"] for one in workspace.journal.read("budget:default")]
    assert kinds.count("attested") == 3
    assert holdfast("verify").code == 0
    # A purge leaves no digest of a state that held the text.
    budget.execute({"do": "add", "error": "the word is xyzzy-1234"}, now=clock.now())
    found = purge.find(workspace, text="xyzzy-1234", now=clock.now())
    seen = at_page("/dev/pts/1", now=clock.now())
    purge.erase(workspace, found, text="xyzzy-1234", actor="x", now=clock.now(), person=seen)
    left = [one for one in workspace.journal.read("budget:default") if one["kind"] == "attested"]
    assert all(one["erased"] for one in left)
    assert holdfast("verify").code == 0


def test_a_fence_in_a_streams_row_gives_no_right_to_write(
    holdfast: Holdfast, workspace: Workspace
) -> None:
    """The old life is taken over; one UPDATE of its stream's row does not bring it back."""
    journal = workspace.journal
    [old] = journal.commit([Append("agent:a", [draft()], expected=0, grant=True)])
    [new] = journal.commit([Append("agent:a", [draft()], expected=1, grant=True)])
    forge(workspace, "UPDATE streams SET fence = ? WHERE name = 'agent:a'", old["fence"])
    journal = discover(workspace.root).journal
    with pytest.raises(FenceLost):
        journal.commit([Append("agent:a", [draft()], expected=2, fence=old["fence"])])
    journal.commit([Append("agent:a", [draft()], expected=2, fence=new["fence"])])
    loaded = journal.load("agent:a")["head"]
    assert loaded is not None
    assert loaded["fence"] == new["fence"]
    found = holdfast("verify")
    assert found.code == 1
    assert f"its fence is {old['fence']}, and its records say {new['fence']}" in found.out
    forge(workspace, "UPDATE streams SET fence = 0")
    forge(workspace, "UPDATE meta SET value = '0' WHERE key = 'fence'")
    [third] = discover(workspace.root).journal.commit(
        [Append("agent:a", [draft()], expected=3, grant=True)]
    )
    assert third["fence"] > new["fence"], "never given twice"


LIBRARY = """
import os, sys, holdfast
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.people import person as people
from holdfast.kernel import clock
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import discover
now = clock.now()
made_up = Person(name="ada", channel=sys.argv[1], terminal="/dev/pts/1", at=clock.precise(now))
who = people.at_page("/dev/pts/1", now=now) if sys.argv[2] == "page" else made_up
answer(GateContext(discover(), "ada", now), AnswerRequest(gate="dash", text="approved", person=who))
"""


@pytest.mark.parametrize(
    ("channel", "made_by"), [("terminal", "hand"), ("page", "hand"), ("page", "page")]
)
def test_five_lines_of_the_library_answer_no_gate(
    repository: Path, holdfast: Holdfast, channel: str, made_by: str
) -> None:
    """The library asks for the same person as the command line."""
    assert holdfast(*LOOK).code == 0
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY, channel, made_by],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "NotAllowed" in done.stderr, done.stderr
    assert holdfast("gate", "wait", "dash", "--timeout", "0").code == 8
