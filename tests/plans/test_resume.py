"""Going on: exactly where it stopped, not past a stop, and with the text that was chosen."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from holdfast.budgets.rules.thresholds import STOP
from holdfast.kernel.errors import Conflict, FenceLost
from holdfast.plans.edits import OLD
from holdfast.plans.news import Attendant
from tests.gates.person import Terminal
from tests.plans.world import HOLDFAST, VERIFY, World, auto
from tests.processes import wait_for

REPORT = HOLDFAST + " guard report --add-cost {cost} --json"


@pytest.mark.clause("AMB-PILOT-30")
def test_a_resume_is_refused_while_a_stop_threshold_holds(world: World) -> None:
    world.plan("1/01", auto(REPORT.format(cost=60)) + auto(world.note("after")))
    assert world.halted().exit_code == 7

    code, answer, err = world.holdfast("plan", "resume")
    assert (code, answer["data"]["reason"]) == (7, "stopped"), err
    assert "holdfast guard reset" in answer["data"]["text"], "what lifts it"
    assert world.noted() == []

    code, answer, _ = world.holdfast("cockpit", "--reset-alerts")
    assert code == 4, "without a terminal"
    assert answer["error"]["kind"] == "no_person"


@pytest.mark.clause("AMB-PILOT-30")
def test_at_a_terminal_reset_alerts_asks_for_a_new_limit_and_goes_on(world: World) -> None:
    world.plan("1/01", auto(REPORT.format(cost=60)) + auto(world.note("after")))
    world.halted()
    terminal = Terminal("plan", "resume", "--reset-alerts")
    terminal.type_back()
    terminal.read_until(re.compile(rb"New stop \(empty leaves it stopped\): $"))
    terminal.type(b"100\n")
    # What was acknowledged is cleared, and the cost is above the alert: the person is asked.
    terminal.read_until(re.compile(rb"Press Enter to acknowledge here"))
    terminal.screen = b""
    terminal.type(b"\n")
    terminal.type_back()
    terminal.read_until(re.compile(rb"'stop'[^\n]*$"))
    terminal.type(b"ack\n")
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert world.noted() == ["after"]


@pytest.mark.clause("AMB-PILOT-30")
def test_errors_are_put_behind_when_a_person_goes_on_after_their_stop(world: World) -> None:
    report = f"{HOLDFAST} guard report --error broken --json; "
    world.plan("1/01", auto(report * 5) + auto(world.note("after")))
    assert world.halted().exit_code == 7
    assert world.holdfast("plan", "resume")[0] == 7
    terminal = Terminal("plan", "resume", "--reset-alerts")
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert world.noted() == ["after"]


@pytest.mark.clause("AMB-PILOT-30")
def test_a_limit_that_is_still_reached_refuses_although_nothing_latches(world: World) -> None:
    """The latch is gone, the cost is not: every resume looks again."""
    world.plan("1/01", auto(world.note("first")))
    world.begin()
    assert world.holdfast("guard", "report", "--add-cost", "20")[0] == 0
    limits = {STOP: {"cost": 15.0}, "alert": {"cost": 14.0}}
    assert world.halted(begin=False, limits=limits).exit_code == 7
    assert world.noted() == [], "before anything is begun"


@pytest.mark.clause("PILOT-64")
@pytest.mark.parametrize("verb", ["takeoff", "cockpit"])
def test_reset_alerts_clears_what_was_acknowledged(world: World, verb: str) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    if verb == "cockpit":
        world.halted()
    words = (
        [verb, "--reset-alerts"] if verb == "cockpit" else [verb, "-y", "--reset-alerts", "plans"]
    )
    code, _, err = world.holdfast(*words)
    assert code == 8, err
    assert "✅ All alert acknowledgments cleared" in err
    state = json.loads((world.root / ".autopilot/state/acknowledgments.json").read_text())
    assert state["acknowledgments"] == {}
    assert state["last_reset"] is not None


@pytest.mark.clause("PILOT-64")
def test_during_a_live_run_cockpit_only_resets_and_shows(world: World) -> None:
    world.plan("1/01", auto(f"{world.note('begun')}; while ! test -e go; do sleep 0.05; done"))
    run = world.process("takeoff", "-y", "plans", "--json")
    wait_for(lambda: world.noted() == ["begun"])
    code, answer, err = world.holdfast("cockpit", "--reset-alerts")
    assert (code, answer["data"]["runner"]) == (0, str(run.pid))
    assert "✅ All alert acknowledgments cleared" in err
    (world.root / "go").touch()
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert world.noted() == ["begun"], "no second runner"


def test_a_second_runner_is_refused_while_the_first_is_at_work(world: World) -> None:
    world.plan("1/01", auto(f"{world.note('begun')}; while ! test -e go; do sleep 0.05; done"))
    world.begin()
    run = world.process("plan", "resume", world.id, "--json")
    wait_for(lambda: world.noted() == ["begun"])
    with pytest.raises(Conflict, match="is being run already, by process"):
        world.run(begin=False)
    (world.root / "go").touch()
    run.communicate(timeout=60)
    assert world.noted() == ["begun"]


def test_a_runner_that_lost_its_fence_can_write_no_more_and_what_it_tried_is_kept(
    world: World,
) -> None:
    """As after a nap of its machine: somebody else has taken the run, and finished the task."""
    world.plan("1/01", auto("true"))
    world.begin()
    first, second = world.runner(), world.runner()
    life: Any = {"number": 1, "pid": 1, "started": "", "host": "", "at": ""}
    first.stream.live(life)
    first.stream.execute({"do": "start", "plan": "1/01", "task": "1", "mark": "old", "log": ""})
    life["number"] = 2
    second.stream.live(life)
    ended = {"plan": "1/01", "task": "1", "exit_code": 0, "seconds": 1.0, "said": "mine"}
    with pytest.raises(FenceLost):
        first.stream.execute({"do": "finish", "mark": "old", **ended})
    (refused,) = world.workspace.journal.refusals(f"run:{world.id}")
    assert refused["drafts"][0]["body"]["said"] == "mine"

    second.stream.execute({"do": "start", "plan": "1/01", "task": "1", "mark": "new", "log": ""})
    second.stream.execute({"do": "finish", "mark": "old", **ended})
    assert world.done() == [], "a completion that names an old start is not accepted either"
    second.stream.execute({"do": "finish", "mark": "new", **ended})
    assert world.done() == ["1/01#1"]
    code, answer, _ = world.holdfast("plan", "show", world.id)
    assert (code, answer["data"]["refused"], len(answer["data"]["refusals"])) == (0, 1, 1)


# Edited plans


class Chooses(Attendant):
    def __init__(self, choice: str) -> None:
        self.choice = choice
        self.asked: list[tuple[str, list[str]]] = []

    def edited(self, path: str, changes: Any) -> str:
        self.asked.append((path, list(changes)))
        return self.choice


def _stopped_halfway(world: World) -> None:
    world.plan("1/01", auto(world.note("one")) + auto(f"test -e ready && {world.note('old')}"))
    world.begin(tries=1)
    world.halted(begin=False)
    (world.root / "ready").touch()
    world.plan("1/01", auto(world.note("one")) + auto(world.note("new")) + auto(world.note("more")))


def test_an_edited_plan_is_noticed_and_asked_about(world: World) -> None:
    _stopped_halfway(world)
    halted = world.halted(begin=False)
    assert (halted.reason, halted.exit_code) == ("plan_edited", 8)
    assert "plans/1-01.md was edited: task 2 changed; task 3 is new" in halted.text
    assert world.noted() == ["one"]


def test_the_old_text_can_be_gone_on_with_and_is_not_asked_about_again(world: World) -> None:
    _stopped_halfway(world)
    chooses = Chooses(OLD)
    assert world.run(begin=False, attendant=chooses)["status"] == "done"
    assert chooses.asked == [("plans/1-01.md", ["task 2 changed", "task 3 is new"])]
    assert world.noted() == ["one", "old"]


def test_what_has_not_begun_can_be_planned_anew(world: World) -> None:
    world.plan(
        "1/01", auto(world.note("one")) + VERIFY + auto(world.note("old")), autonomous="false"
    )
    world.halted()
    (gate,) = world.open_gates()
    world.answer(gate, "approved")
    text = auto(world.note("one")) + VERIFY + auto(world.note("new")) + auto(world.note("more"))
    world.plan("1/01", text, autonomous="false")
    state = world.run(begin=False, edited="new")
    assert world.noted() == ["one", "new", "more"], "and what was done is not done again"
    assert (state["done"], state["total"]) == (3, 3)


def test_a_new_text_cannot_change_the_past(world: World) -> None:
    _stopped_halfway(world)
    world.plan("1/01", auto(world.note("other")) + auto(world.note("new")))
    halted = world.halted(begin=False, edited="new")
    assert "task 1 is done or at work, and its text is another now" in halted.text
    assert (halted.reason, halted.exit_code) == ("plan_edited", 5)
    assert world.state()["status"] == "paused", "and not left as if it ran"


def test_an_edit_during_a_run_is_noticed_before_the_next_task_of_the_plan(world: World) -> None:
    edit = f"sed -i s/two/edited/ {world.root}/plans/1-01.md"
    world.plan("1/01", auto(edit) + auto(world.note("two")))
    assert world.halted().reason == "plan_edited"
    assert world.noted() == []


def test_a_secret_in_a_command_reaches_its_program_and_not_the_journal(world: World) -> None:
    secret = "ghp_" + "a1B2" * 9
    world.plan("1/01", auto(f"echo {secret} >> {world.log}"))
    world.run()
    assert world.noted() == [secret]
    assert secret not in json.dumps(world.records())


def test_the_same_plans_are_not_run_twice_by_accident(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.halted()
    code, answer, _ = world.holdfast("plan", "run", "plans")
    assert (code, answer["error"]["kind"]) == (5, "run_unfinished")
    assert f"holdfast plan resume {world.id}" in answer["error"]["hint"]
