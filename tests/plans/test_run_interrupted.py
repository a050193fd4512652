"""Ctrl+C, SIGTERM and the emergency stop: a run ends in good order, with nothing left at work."""

from __future__ import annotations

import json
import signal
import time

import pytest

from holdfast.plans.news import SIGNS
from tests.gates.person import Terminal
from tests.plans.world import World, auto
from tests.processes import wait_for


def _at_work(world: World, run: str) -> None:
    world.log.touch()
    world.plan("3/06", auto("true", name="first") + auto(run, name="second"))
    world.begin()


@pytest.mark.clause("PILOT-73", "AMB-PILOT-24")
@pytest.mark.parametrize("sign", SIGNS)
def test_an_interrupt_writes_a_checkpoint_ends_the_programs_and_leaves_with_130(
    world: World, sign: signal.Signals
) -> None:
    _at_work(world, f"echo begun >> {world.log}; sleep 600 & sleep 600")
    run = world.process("plan", "resume", world.id, "--json")
    wait_for(lambda: world.noted() == ["begun"])
    run.send_signal(sign)
    out, err = run.communicate(timeout=60)

    assert run.returncode == 130, err
    answer = json.loads(out.splitlines()[-1])["data"]
    assert (answer["ended"], answer["reason"]) == ("paused", "user_interrupt")
    assert answer["waypoint"].startswith(".autopilot/waypoints/user-interrupt-")
    waypoint = json.loads((world.root / answer["waypoint"]).read_text())
    assert (waypoint["phase"], waypoint["plan"]) == ("3", "06")
    assert waypoint["last_task_completed"] == "3/06#1 first"
    assert waypoint["next_task"] == "3/06#2 second"
    assert world.orphans() == []
    assert world.state()["plans"]["3/06"]["tasks"]["2"]["status"] == "open"


@pytest.mark.clause("AMB-PILOT-24")
def test_a_second_interrupt_ends_it_now(world: World) -> None:
    _at_work(world, f"trap '' TERM; echo begun >> {world.log}; while :; do sleep 0.1; done")
    run = world.process("plan", "resume", world.id, "--json")
    wait_for(lambda: world.noted() == ["begun"])
    run.send_signal(signal.SIGINT)
    time.sleep(0.2)  # the first has been heard: a program that ignores it has five seconds
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert world.records("run_paused") == [], "no time for that"
    wait_for(lambda: world.orphans() == [])


def test_an_emergency_stop_ends_what_is_at_work(world: World) -> None:
    _at_work(world, f"echo begun >> {world.log}; sleep 600")
    run = world.process("plan", "resume", world.id, "--json")
    wait_for(lambda: world.noted() == ["begun"])
    world.holdfast("estop", "--reason", "The wrong database")
    out, err = run.communicate(timeout=60)
    assert run.returncode == 7, err
    answer = json.loads(out.splitlines()[-1])["data"]
    assert answer["reason"] == "stopped"
    assert "The wrong database" in answer["text"]
    assert world.orphans() == []
    assert world.halted(begin=False).exit_code == 7, "and a resume is refused while it holds"
    terminal = Terminal("release")
    terminal.type_back()
    assert terminal.leave().code == 0
