"""What a person meets on the command line around plans and budgets, from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast as library
from holdfast.gates import lookup as gates
from holdfast.kernel import canonical_json, clock
from holdfast.plans import runs
from tests.cli.conftest import Holdfast
from tests.gates.person import Terminal
from tests.plans.world import VERIFY, World, auto


def acknowledged(root: Path) -> dict[str, object]:
    found = json.loads((root / ".autopilot/state/acknowledgments.json").read_text())
    entries: dict[str, object] = found["acknowledgments"]
    return entries


def acknowledge_cost(holdfast: Holdfast, session: str) -> None:
    assert holdfast("guard", "check", "--cost", "26", "--session", session).code == 8
    terminal = Terminal("guard", "ack", "cost")
    terminal.type_back()
    terminal.type(b"ack\n")
    seen = terminal.leave()
    assert seen.code == 0, seen.screen


@pytest.mark.clause("PILOT-63", "PILOT-64", "PILOT-91")
@pytest.mark.parametrize("verb", ["takeoff", "cockpit"])
def test_the_command_that_the_stop_box_offers_works_without_a_plan(
    world: World, holdfast: Holdfast, verb: str
) -> None:
    acknowledge_cost(holdfast, "first")
    assert acknowledged(world.root)
    answer = holdfast(verb, "--reset-alerts")
    assert answer.code == 0, answer.err
    assert "All alert acknowledgments cleared" in answer.err
    assert acknowledged(world.root) == {}
    assert holdfast(verb, "--reset-alerts", "--json").data == {"cleared": [], "run": ""}


@pytest.mark.clause("PILOT-63", "PILOT-64")
def test_takeoff_clears_before_it_asks_for_clearance(world: World, holdfast: Holdfast) -> None:
    acknowledge_cost(holdfast, "first")
    world.plan("1/01", auto("true"))
    assert holdfast("takeoff", "plans", "--reset-alerts").code == 8, "no person gave clearance"
    assert acknowledged(world.root) == {}


@pytest.mark.clause("PILOT-52", "PILOT-60")
def test_an_acknowledgment_carries_the_session_of_its_alert(
    world: World, holdfast: Holdfast
) -> None:
    acknowledge_cost(holdfast, "the-session-that-spent")
    entry = acknowledged(world.root)["cost"]
    assert isinstance(entry, dict)
    assert entry["session_id"] == "the-session-that-spent"


def test_a_check_in_a_pipe_names_the_command_that_answers(world: World, holdfast: Holdfast) -> None:
    answer = holdfast("guard", "check", "--cost", "26")
    assert answer.code == 8
    assert "holdfast guard ack cost" in answer.out


@pytest.mark.clause("PILOT-38")
def test_a_wave_has_the_number_that_its_file_says(world: World, holdfast: Holdfast) -> None:
    world.plan("1/01", auto("true"), wave=2)
    world.plan("1/02", auto("true") + VERIFY + auto("true"), wave=5, autonomous="false")
    assert "wave 5" in holdfast("plan", "run", "plans", "--dry-run").out
    answer = holdfast("plan", "run", "plans")
    assert answer.code == 8, answer.err
    state = runs.find_run(world.workspace, "")
    shown = holdfast("plan", "show").out
    assert "wave 5" in shown
    assert "1 · wave 2" in shown
    assert "wave 1 " not in shown
    assert "wave 1\n" not in shown
    transponder = (world.root / ".autopilot/TRANSPONDER.md").read_text()
    assert "**Phase:** 1, wave 5" in transponder
    logbook = (world.root / ".autopilot/phases/001/LOGBOOK.md").read_text()
    assert "- **Wave:** 2" in logbook
    events = [
        json.loads(line) for line in holdfast("plan", "resume", "--json").out.splitlines()[:-1]
    ]
    assert {event["wave"] for event in events} == {5}
    # And the tasks are counted alike: 3 of the run, 2 of the second plan.
    assert runs.count(state) == {"done": 2, "total": 3}
    assert "1/2" in shown
    assert "2/3" in shown
    assert "| 1/02 | begun | 1/2 |" in transponder
    holding = (world.root / ".autopilot/holding-pattern.md").read_text()
    assert "task: 2\ntotal_tasks: 2\n" in holding


@pytest.mark.clause("PILOT-80", "PILOT-88")
@pytest.mark.parametrize("autonomous", ["true", "false"])
def test_a_plan_with_ui_changes_never_ends_without_a_person(
    world: World, holdfast: Holdfast, autonomous: str
) -> None:
    world.plan("1/01", auto("true"), has_ui_changes="true", autonomous=autonomous)
    lint = holdfast("plan", "lint", "plans", "--json")
    assert lint.code == 1
    (found,) = lint.data["findings"]
    assert (found["level"], found["code"]) == ("error", "PLAN_TYPE")
    assert "UI changes require visual verification" in found["what"]
    assert holdfast("plan", "run", "plans").code == 1, "and it is not run"
    asked = holdfast("plan", "run", "plans", "--skip-validation")
    assert asked.code == 8, asked.err
    assert "Human-verify execution: Phase 1, Plan 01" in asked.err
    (waiting,) = gates.open_gates(world.workspace)
    assert "Phase 1, Plan 01" in waiting["content"]["title"]
    assert not (world.root / ".autopilot/phases/001/LOGBOOK.md").exists(), "it has not ended"


@pytest.mark.clause("PILOT-87", "PILOT-76", "AMB-PILOT-15")
def test_a_later_plan_is_looked_at_as_its_kind_says(world: World, holdfast: Holdfast) -> None:
    world.plan("3/01", auto("true"), autonomous="")
    answer = holdfast("plan", "run", "plans")
    assert answer.code == 8, answer.err
    assert "a person is asked at its end" in answer.err


def test_the_lines_of_a_run_hold_nothing_that_a_person_need_not_know(
    world: World, holdfast: Holdfast
) -> None:
    world.plan("1/01", auto("true"))
    world.plan("1/02", auto("true") + VERIFY, autonomous="false", wave=2)
    answer = holdfast("plan", "run", "plans")
    assert answer.code == 8
    assert "runner" not in answer.err
    assert "life" not in answer.err
    assert "ending" not in answer.err, "no program is left"


def test_a_program_that_is_left_is_named(world: World, holdfast: Holdfast) -> None:
    world.plan("1/01", auto("sleep 60 &") + VERIFY, autonomous="false")
    answer = holdfast("plan", "run", "plans")
    assert "ending 1 program left in the background" in answer.err


def test_a_new_plan_runs_as_it_is(world: World, holdfast: Holdfast) -> None:
    made = holdfast("plan", "new", "--title", "Fetch & show <the> data", "--json")
    assert made.data["path"] == ".autopilot/phases/001/01.md"
    assert holdfast("plan", "new").code == 0
    assert (world.root / ".autopilot/phases/001/02.md").exists()
    looked = holdfast("plan", "new", "3/01", "--ui", "--title", "A & B")
    assert looked.code == 0
    lint = holdfast("plan", "lint", "--json").data
    assert lint["errors"] == 0, lint["findings"]
    assert lint["plans"] == ["1/01", "1/02", "3/01"]
    assert holdfast("plan", "new", "1/01").code == 5, "no file is written over"
    assert holdfast("plan", "new", "../x").code == 2
    dry = holdfast("plan", "new", "4/01", "--dry-run")
    assert "<task" in dry.out
    assert not (world.root / ".autopilot/phases/004").exists()
    assert holdfast("plan", "run").code == 8, "its checkpoint waits"


# A checkpoint is not edited away


def _edited(world: World, holdfast: Holdfast, text: str) -> None:
    """A run that waits at its checkpoint, whose plan file an agent then rewrites."""
    world.plan(
        "1/01", auto(world.note("one")) + VERIFY + auto(world.note("two")), autonomous="false"
    )
    assert holdfast("plan", "run", "plans").code == 8
    world.plan("1/01", text, autonomous="false" if "checkpoint" in text else "true")


@pytest.mark.parametrize("order", ["taken out", "changed", "put later"])
def test_no_agent_edits_a_checkpoint_away(world: World, holdfast: Holdfast, order: str) -> None:
    one, two = auto(world.note("one")), auto(world.note("two"))
    texts = {
        "taken out": one + two,
        "changed": one + VERIFY.replace("and look", "if you like") + two,
        "put later": one + two + VERIFY,
    }
    _edited(world, holdfast, texts[order])
    answer = holdfast("plan", "resume", "--edited", "new")
    assert answer.code == 4, answer.err
    assert "Only a person may go on past 1 checkpoint of 1/01" in answer.err
    with library.open() as opened:
        outcome = opened.plans.resume(edited="new")
    assert outcome["ended"] == "paused"
    assert world.noted() == ["one"]
    assert len(world.open_gates()) == 1


def test_no_agent_edits_away_a_checkpoint_that_was_not_asked_yet(
    world: World, holdfast: Holdfast
) -> None:
    one, two = auto("test -e ready"), auto(world.note("two"))
    world.plan("1/01", one + VERIFY + two, autonomous="false")
    assert holdfast("plan", "run", "plans").code == 1
    assert world.open_gates() == []
    (world.root / "ready").touch()
    world.plan("1/01", one + two)
    answer = holdfast("plan", "resume", "--edited", "new")
    assert answer.code == 4, answer.err
    assert world.noted() == []
    assert holdfast("plan", "resume", "--edited", "old").code == 8, "the question is asked"


def test_a_person_goes_on_past_a_checkpoint_that_was_taken_out(
    world: World, holdfast: Holdfast
) -> None:
    _edited(world, holdfast, auto(world.note("one")) + auto(world.note("two")))
    terminal = Terminal("plan", "resume", "--edited", "new")
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert world.noted() == ["one", "two"]


def test_what_is_not_a_checkpoint_is_edited_without_a_person(
    world: World, holdfast: Holdfast
) -> None:
    _edited(world, holdfast, auto(world.note("one")) + VERIFY + auto(world.note("three")))
    assert holdfast("plan", "resume", "--edited", "new").code == 8, "it asks the same question"
    assert len(world.open_gates()) == 1


def test_an_inbox_does_not_answer_for_a_run(world: World, holdfast: Holdfast) -> None:
    world.plan(
        "1/01", auto(world.note("one")) + VERIFY + auto(world.note("two")), autonomous="false"
    )
    assert holdfast("plan", "run", "plans").code == 8
    run = runs.find_run(world.workspace, "")
    (gate,) = world.open_gates()
    command = {"do": "answer", "plan": "1/01", "key": "2", "gate": gate}
    command |= {"verdict": "yes", "answer": "approved", "text": "", "by": "ada"}
    folder = world.root / ".holdfast" / "inbox"
    folder.mkdir(parents=True, exist_ok=True)
    queued = {"id": "f" * 32, "stream": f"run:{run['id']}", "command": command, "actor": "ada"}
    at = clock.precise(clock.now())
    (folder / "1.json").write_text(canonical_json.dumps({**queued, "fence": None, "at": at}))
    assert holdfast("plan", "resume").code == 8
    assert (folder / "1.json.refused").exists()
    assert world.noted() == ["one"]
