"""What is said elsewhere, and what hooks on this machine do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.budgets import alerts
from holdfast.budgets.check import Budget
from holdfast.hooks.run import LAUNCHER
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.kernel import canonical_json, clock, latch
from holdfast.kernel.workspace import discover
from holdfast.remote.forwarder import ServerLink
from holdfast.remote.spool import Spool
from tests.cli.conftest import Holdfast
from tests.remote.world import AGENT, STREAM, Machine, Outage

if TYPE_CHECKING:
    from holdfast.journal.interface import Head
    from holdfast.journal.postgres.commit import Tip

ALERT, TOO_MUCH = 30.0, 60.0  # dollars


def test_a_stop_of_another_machine_holds_here_until_it_is_released_there(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    machine.go()
    machine.hook("Stop")
    another.go()
    assert holdfast("estop", "--reason", "Wrong branch").code == 0
    assert latch.read(machine.hooks) is None
    machine.forward()
    held = latch.read(machine.hooks)
    assert held is not None
    assert (held["reason"], held["by"]) == ("Wrong branch", "tester")
    denied = machine.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert "Wrong branch" in str(denied)
    another.release()
    machine.forward()
    assert latch.read(machine.hooks) is None


@pytest.mark.parametrize("who", ["a hook", "a command"])
def test_a_latch_that_was_removed_beside_a_server_is_set_again_and_recorded_there(
    machine: Machine,
    another: Machine,
    holdfast: Holdfast,
    who: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stop came from another machine; a program here removes its latch."""
    monkeypatch.setenv(LAUNCHER, "1")
    another.go()
    assert holdfast("estop", "--reason", "Wrong branch").code == 0
    machine.go()
    machine.forward()
    assert latch.release(machine.hooks)
    if who == "a hook":
        denied = machine.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
        assert "Wrong branch" in str(denied)
        machine.forward()
    else:
        said = "The file of the emergency stop was removed. It is set again, and recorded."
        assert said in holdfast("note", "any command").err
    assert latch.read(machine.hooks) is not None
    (record,) = machine.on_server("people:workspace")
    assert record["body"]["purpose"] == "lift the emergency stop"
    assert "A program tried to lift the emergency stop" in holdfast("status").out
    another.release()
    machine.forward()
    assert latch.read(machine.hooks) is None, "and a person lifts it as before"
    assert "was removed" not in holdfast("note", "nothing is missing").err


def test_a_snapshot_made_up_on_the_server_lifts_no_stop_here(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    another.go()
    assert holdfast("estop", "--reason", "Wrong branch").code == 0
    server = discover(str(another.root)).on_server()
    server.snapshot("stop:workspace", 1, {"stopped": False, "reason": "", "by": ""})
    server.close()
    machine.go()
    machine.forward()
    held = latch.read(machine.hooks)
    assert held is not None
    assert held["reason"] == "Wrong branch"


def test_a_file_in_an_inbox_lifts_no_stop_on_any_machine(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    another.go()
    assert holdfast("estop", "--reason", "Wrong branch").code == 0
    machine.go()
    machine.forward()
    person = {"name": "ada", "channel": "terminal", "terminal": "/dev/pts/1", "at": ""}
    folder = machine.root / ".holdfast" / "inbox"
    folder.mkdir(parents=True, exist_ok=True)
    for number, by in enumerate(("ada", person)):
        queued = {"id": f"{number}" * 32, "stream": "stop:workspace", "actor": "ada", "fence": None}
        command = {"do": "release", "reason": "over", "by": by}
        text = canonical_json.dumps(
            {**queued, "command": command, "at": clock.precise(clock.now())}
        )
        (folder / f"{number}.json").write_text(text)
    assert holdfast("note", "takes the inbox in").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["0.json.refused", "1.json.refused"]
    assert [one["kind"] for one in machine.on_server("stop:workspace")] == ["stopped"]
    for each in (machine, another):
        each.forward()
        assert latch.read(each.hooks) is not None


def test_a_stop_that_the_server_has_not_heard_of_is_not_released_by_it(
    machine: Machine, another: Machine, holdfast: Holdfast, outage: Outage
) -> None:
    another.go()
    holdfast("estop", "--reason", "An old one")
    another.release()
    machine.go()
    latch.engage(machine.hooks, "By hand", by="somebody", now=0)
    machine.forward()
    held = latch.read(machine.hooks)
    assert held is not None
    assert held["reason"] == "By hand"


def test_a_stop_while_the_server_is_away_holds_here_and_goes_over_later(
    machine: Machine, another: Machine, holdfast: Holdfast, outage: Outage
) -> None:
    another.go()
    another.hook("Stop")
    machine.go()
    outage.begin()
    said = holdfast("estop", "--reason", "Fire")
    assert said.code == 0
    assert "holds on this machine" in said.err
    assert latch.read(machine.hooks) is not None
    outage.end()
    machine.forward()
    assert latch.read(machine.hooks) is not None
    another.forward()
    held = latch.read(another.hooks)
    assert held is not None
    assert held["reason"] == "Fire"


def test_a_stop_that_waits_to_go_over_is_not_lifted_by_an_older_release(
    machine: Machine, another: Machine, holdfast: Holdfast, outage: Outage
) -> None:
    """In the very same words, and heard before it could be delivered."""
    another.go()
    holdfast("estop", "--reason", "Fire")
    another.release()
    machine.go()
    outage.begin()
    holdfast("estop", "--reason", "Fire")
    outage.end()
    workspace = discover(str(machine.root))
    file = workspace.file()
    with ServerLink(workspace, Spool(file)) as line:
        line.mirror.follow()
    file.close()
    assert latch.read(machine.hooks) is not None


def test_a_gate_that_was_asked_and_answered_elsewhere_is_known_to_hooks(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    from holdfast.gates.lookup import open_gates

    another.go()
    asked = holdfast("gate", "verify", "--built", "A page", "--how", "Look", "--json")
    assert asked.code in (0, 8), asked
    machine.go()
    machine.forward()
    [gate] = open_gates(machine.hooks)
    another.answer(gate["id"])
    machine.forward()
    assert open_gates(machine.hooks) == []


def test_an_acknowledgment_of_another_machine_lets_a_session_go_on(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    machine.go()
    machine.check("s1", cost=ALERT)
    assert alerts.read(machine.hooks, "s1"), "held by what is known here, though not decided yet"
    machine.forward()
    assert alerts.read(machine.hooks, "s1"), "and by what the server decided"
    another.acknowledge("cost")
    machine.forward()
    assert alerts.read(machine.hooks, "s1") == {}


def test_a_budgets_stop_holds_on_every_machine(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    another.go()
    another.hook("Stop")
    machine.go()
    machine.check("s1", cost=TOO_MUCH)
    machine.forward()
    another.forward()
    held = latch.read(another.hooks)
    assert held is not None
    assert held["by"] == "guard"
    machine.reset_budget()
    another.forward()
    assert latch.read(another.hooks) is None


def test_lives_of_other_machines_stay_there(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    another.go()
    another.hook("Stop", session="theirs")
    another.forward()
    holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    machine.go()
    machine.hook("Stop", session="ours")
    machine.forward()
    journal = machine.hooks.journal
    names = [head["stream"] for head in journal.heads()]
    assert "session:ours" in names
    assert "session:theirs" not in names
    assert "agent:secondary_a" not in names


def test_what_was_written_without_the_server_is_kept_before_it_is_replaced(
    machine: Machine, another: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.go()
    with monkeypatch.context() as before:
        before.setenv("HOLDFAST_URL", "")
        holdfast("estop", "--reason", "In the file alone")
    another.go()
    holdfast("estop", "--reason", "On the server")
    machine.go()
    machine.forward()
    copies = list(machine.home.glob("before-restore-*.db"))
    assert len(copies) == 1
    held = latch.read(machine.hooks)
    assert held is not None
    assert held["reason"] == "In the file alone"


def test_an_agent_whose_life_ended_elsewhere_is_told_by_its_next_hook(
    machine: Machine, another: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.go()
    with monkeypatch.context() as in_its_client:
        in_its_client.setenv("CLAUDE_CODE_SESSION_ID", "s1")
        holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    another.go()
    assert holdfast("agent", "resume", AGENT, "--yes").code == 0
    machine.go()
    machine.forward()
    told = machine.hook("UserPromptSubmit", prompt="go on")
    assert "can write no more" in str(told), told


def test_its_age_is_kept(machine: Machine) -> None:
    assert Spool(machine.hooks.file()).heard()["at"] == ""
    machine.forward()
    heard = Spool(machine.hooks.file()).heard()
    assert heard["at"]
    assert heard["place"].startswith("postgresql://")
    assert discover(str(machine.root)).url.split("@")[0] not in heard["place"]


def test_a_budget_is_read_as_the_server_has_it(machine: Machine, another: Machine) -> None:
    another.go()
    another.check("theirs", cost=ALERT)
    another.forward()
    machine.go()
    machine.forward()
    assert Budget(machine.hooks, actor="hook").state()["pending"]


def test_what_a_command_here_wrote_is_known_to_hooks_at_once(
    machine: Machine, holdfast: Holdfast
) -> None:
    from holdfast.gates.lookup import open_gates

    asked = holdfast("gate", "verify", "--built", "A page", "--how", "Look", "--json")
    [gate] = open_gates(machine.hooks)
    assert gate["id"] == asked.data["id"]
    machine.answer(gate["id"])
    assert open_gates(machine.hooks) == []


def test_a_session_is_told_what_people_answered_elsewhere(
    machine: Machine, another: Machine, holdfast: Holdfast
) -> None:
    machine.go()
    holdfast("checkpoint", "--session", "s1", "--task", "the page", "--skip-git", "--skip-tracker")
    asked = holdfast("gate", "verify", "--built", "A page", "--how", "Look", "--json")
    another.go()
    another.answer(asked.data["id"])
    machine.go()
    machine.forward()
    told = machine.hook("SessionStart", source="resume")
    assert f"{asked.data['id']}: approved" in str(told)


def test_what_a_command_says_while_the_server_is_read_is_not_taken_back(
    machine: Machine, another: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    another.go()
    assert holdfast("estop", "--reason", "Wrong branch").code == 0
    another.release()
    machine.go()
    said: list[int] = []

    find_end = PostgresJournal.end_of

    def say_then(server: PostgresJournal, stream: str) -> Tip:
        found = find_end(server, stream)
        if stream == "stop:workspace" and not said:
            said.append(holdfast("estop", "--reason", "Wrong branch").code)
        return found

    monkeypatch.setattr(PostgresJournal, "end_of", say_then)
    machine.forward()
    assert said == [0]
    assert latch.read(machine.hooks) is not None
    assert Spool(machine.hooks.file()).file.load("stop:workspace")["snapshot"]["stopped"]


def test_a_life_that_begins_while_the_server_is_read_is_known_to_its_hooks(
    machine: Machine, another: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.go()
    holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    another.go()
    assert holdfast("agent", "resume", AGENT, "--yes").code == 0
    machine.go()
    said: list[int] = []

    find_end = PostgresJournal.end_of

    def resume_then(server: PostgresJournal, stream: str) -> Tip:
        found = find_end(server, stream)
        if stream == STREAM and not said:
            said.append(holdfast("agent", "resume", AGENT, "--yes").code)
        return found

    monkeypatch.setattr(PostgresJournal, "end_of", resume_then)
    machine.forward()
    assert said == [0]
    assert "failed" not in machine.beat(step="of the new life")
    machine.forward()
    kinds = [record["kind"] for record in machine.on_server(STREAM)]
    assert kinds == ["started", "resumed", "resumed", "beat"]


def test_an_older_word_does_not_take_a_newer_ones_place(machine: Machine) -> None:
    spool = Spool(machine.hooks.file())
    head: Head = {
        "stream": "stop:workspace",
        "version": 2,
        "fence": 0,
        "seen_at": "",
        "closed_at": None,
        "anchor_version": 0,
    }
    assert spool.adopt(head, b"2" * 32, {"stopped": True})
    assert not spool.adopt({**head, "version": 1}, b"1" * 32, {"stopped": False}, only_newer=True)
    assert spool.file.load("stop:workspace")["snapshot"] == {"stopped": True}
    assert spool.adopt({**head, "version": 1}, b"1" * 32, {"stopped": False}), "a server put back"
