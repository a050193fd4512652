"""Work whose process is gone: `status`, `holdfast` and `resume` say what it is and what goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import holdfast as library
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.loop.attention import SILENT_AFTER, find
from tests.cli.conftest import Holdfast
from tests.gates.person import answers
from tests.plans.world import VERIFY, World, auto

TITLE = "The page at http://localhost:3000"
DYING_AGENT = """
import holdfast, os
with holdfast.open(actor="driver").agent("Secondary-A", feature="feature_02_parser") as me:
    me.beat(step="Writing the tokenizer")
    os.kill(os.getpid(), 9)
"""


def test_a_run_whose_runner_is_gone_is_named_with_the_command_that_goes_on(
    repository: Path, holdfast: Holdfast
) -> None:
    world = World(repository)
    world.plan("1/01", auto(world.note("one")))
    run = world.begin()
    command = f"holdfast plan resume {run}"
    status = holdfast("status")
    assert f"Plan run {run} stands still (0 of 1 task done" in status.out
    assert command in status.out
    assert holdfast("--json").data["next"] == command
    resumed = holdfast("resume")
    assert resumed.code == 0
    assert resumed.out.startswith("Holdfast: ")
    assert f"its runner is gone: `{command}`" in resumed.out
    world.run(begin=False)
    assert "All quiet." in holdfast("status").out


def test_a_run_goes_on_after_the_answer_that_it_waited_for(
    repository: Path, holdfast: Holdfast
) -> None:
    world = World(repository)
    world.plan("1/01", auto(world.note("one")) + VERIFY + auto(world.note("two")))
    world.halted()
    (gate,) = world.open_gates()
    shown = holdfast("plan", "show").out
    assert shown.count(f"\nWaits for your answer: {TITLE}\n") == 1, "the question by its title"
    assert "stands still" not in holdfast("status").out, "the gate itself says what waits"
    seen = answers(gate, "approved")
    assert f"next: holdfast plan resume {world.id}" in seen.screen
    assert "its question is answered" in holdfast("status").out
    shown = holdfast("plan", "show").out
    assert "Waits for your answer" not in shown
    assert f"\nAnswered: {TITLE}\n" in shown


def test_an_agent_whose_process_died_is_named(repository: Path, holdfast: Holdfast) -> None:
    assert subprocess.run([sys.executable, "-c", DYING_AGENT]).returncode == -9
    status = holdfast("status")
    assert "Secondary-A is quiet (process gone" in status.out
    assert "holdfast agent resume Secondary-A" in status.out
    assert "All quiet." not in status.out
    assert "Secondary-A is quiet (process gone" in holdfast("resume").out


def test_a_track_without_a_word_for_long_is_named(repository: Path) -> None:
    with (
        library.open() as workspace,
        workspace.loop("parser").step("EXECUTE", tasks=["1", "2"]) as step,
    ):
        step.done("1", commit="3f2a9c1")
        now = clock.now()
        assert list(find(discover(), now)) == []
        (silent,) = find(discover(), now + SILENT_AFTER + clock.MINUTE)
        step.done("2", commit="3f2a9c2")
    assert silent.what.startswith(
        "Track parser stands at EXECUTE, 1 of 2 tasks done; last word 31 min"
    )
    assert silent.next == "holdfast loop resume --track parser"


def test_an_agent_that_a_person_has_just_started_needs_nothing(
    repository: Path, holdfast: Holdfast
) -> None:
    words = ["-m", "holdfast", "agent", "start", "Secondary-A", "--feature", "feature_02_parser"]
    script = f"import subprocess, sys; subprocess.run([sys.executable, *{words!r}], check=True)"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    (agent,) = holdfast("agent", "list", "--json").data["agents"]
    assert agent["signals"]["process"] == "gone", "the command's caller has ended"
    assert (agent["verdict"], agent["because"]) == ("waiting", ["started, no beat yet"])
    assert agent["next"] == ""
    assert "process gone" not in holdfast("agent", "list").out
    assert "Secondary-A" not in str(holdfast("status", "--json").data["attention"])
