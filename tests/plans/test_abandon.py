"""Giving a run up: nobody waits for it any more, and its plans are free again."""

from __future__ import annotations

from holdfast.gates import lookup as gates
from holdfast.gates.rules.gate import withdrawn_of
from tests.conftest import Git
from tests.gates.person import Terminal
from tests.plans.world import VERIFY, World, auto
from tests.processes import wait_for


def _person(*words: str) -> None:
    """A person runs a command at a terminal."""
    terminal = Terminal(*words)
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0, seen.screen


def _waits_for_a_person(world: World) -> str:
    world.plan("1/01", auto(world.note("one")) + VERIFY + auto("true"), autonomous="false")
    assert world.halted().reason == "waiting_for_person"
    (gate,) = world.open_gates()
    return gate


def test_an_abandoned_run_waits_for_nobody_and_never_goes_on(world: World) -> None:
    gate = _waits_for_a_person(world)
    code, answer, _ = world.holdfast("plan", "abandon", "--reason", "another way")
    assert (code, answer["error"]["kind"]) == (4, "no_person"), "its question is a person's"
    assert world.open_gates() == [gate]
    _person("plan", "abandon", "--reason", "another way")
    known = withdrawn_of(gates.read(world.workspace, gate))
    assert known is not None
    assert known["why"] == f"the run {world.id} was abandoned"
    assert world.open_gates() == []
    state = world.state()
    assert (state["status"], state["done"]) == ("abandoned", 1)
    assert state["pause"] is not None
    assert state["pause"]["text"] == "another way"

    for words in (("resume", world.id), ("abandon", world.id)):
        code, answer, _ = world.holdfast("plan", *words)
        assert (code, answer["error"]["kind"]) == (5, "run_ended")
    assert world.noted() == ["one"]
    board = (world.root / ".autopilot/TRANSPONDER.md").read_text()
    assert "- **Status:** abandoned" in board
    assert "plan resume" not in board
    assert not (world.root / ".autopilot/holding-pattern.md").exists()


def test_the_plans_of_an_abandoned_run_are_free_again(world: World) -> None:
    _waits_for_a_person(world)
    assert world.holdfast("plan", "run", "plans")[0] == 5, "an unfinished run has them"
    _person("plan", "abandon")
    assert world.holdfast("plan", "run", "plans")[0] == 8
    assert world.noted() == ["one", "one"]


def test_a_run_that_is_being_run_is_not_abandoned(world: World) -> None:
    wait = "while ! test -e go; do sleep 0.02; done"
    world.plan("1/01", auto(f"{world.note('begun')}; {wait}"))
    world.begin()
    runner = world.process("plan", "resume", world.id, "--json")
    wait_for(lambda: world.noted() == ["begun"])
    code, answer, _ = world.holdfast("plan", "abandon", world.id)
    assert (code, answer["error"]["kind"]) == (5, "running")
    (world.root / "go").touch()
    runner.communicate(timeout=60)
    assert runner.returncode == 0
    assert world.holdfast("plan", "abandon", world.id)[1]["error"]["kind"] == "run_ended"


def test_the_worktrees_of_an_abandoned_run_are_kept(world: World, git: Git) -> None:
    world.plan("1/01", auto("echo half > work.txt") + auto("false"))
    world.begin(worktrees=True, tries=1)
    world.halted(begin=False)
    _, answer, _ = world.holdfast("plan", "abandon", world.id)
    (kept,) = answer["data"]["worktrees"]
    assert git("status", "--porcelain", at=kept).split() == ["??", "work.txt"]


def test_a_gate_that_was_withdrawn_under_a_run_is_asked_anew(world: World) -> None:
    gate = _waits_for_a_person(world)
    _person("gate", "withdraw", gate, "--reason", "not yet")
    halted = world.halted(begin=False)
    assert (halted.reason, halted.exit_code) == ("issues_reported", 9)
    assert "withdrawn: not yet" in halted.text
    assert world.halted(begin=False).reason == "waiting_for_person"
    assert world.open_gates() == [f"{gate}.2"]
