"""On which machine a task is, where that is another: in the run's rows, and wherever people look."""

from __future__ import annotations

import pytest

from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.plans.runs import RunFolder, RunStream
from holdfast.plans.screen import screen
from tests.cli.conftest import Holdfast
from tests.plans.world import World, auto

HOSTILE = "gpu-1@far\x1b[31m"


@pytest.fixture
def at_work(world: World) -> RunStream:
    """A run whose first task has begun, and of which nobody knows where."""
    world.plan("1/01", auto("true", name="Train") + auto("true"))
    world.begin()
    stream = RunStream(world.writer, RunFolder(world.workspace, world.id), actor="tester")
    stream.execute({"do": "start", "plan": "1/01", "task": "1", "mark": new_id(), "log": "a.log"})
    return stream


def task(stream: RunStream) -> dict[str, object]:
    return {**stream.state["plans"]["1/01"]["tasks"]["1"]}


def place(stream: RunStream, mark: object, on: str = "gpu-1@far") -> int:
    command = {"do": "place", "plan": "1/01", "task": "1", "mark": mark, "on": on}
    return len(stream.execute(command))


def test_a_start_is_placed_by_its_mark(at_work: RunStream) -> None:
    assert "on" not in task(at_work)
    assert place(at_work, "another-start") == 0
    assert "on" not in task(at_work)
    assert place(at_work, task(at_work)["mark"]) == 1
    assert task(at_work)["on"] == "gpu-1@far"


def test_the_next_start_may_be_elsewhere(at_work: RunStream) -> None:
    mark = task(at_work)["mark"]
    place(at_work, mark)
    lose = {"do": "lose", "plan": "1/01", "task": "1", "mark": mark, "why": "killed"}
    at_work.execute(lose)
    again = new_id()
    at_work.execute({"do": "start", "plan": "1/01", "task": "1", "mark": again, "log": "b.log"})
    assert "on" not in task(at_work)
    finish = {"do": "finish", "plan": "1/01", "task": "1", "mark": again, "on": "two@near"}
    at_work.execute({**finish, "exit_code": 0, "seconds": 0.1, "said": ""})
    assert task(at_work)["on"] == "two@near"


def test_the_watch_and_the_command_say_it(
    at_work: RunStream, world: World, holdfast: Holdfast
) -> None:
    place(at_work, task(at_work)["mark"], HOSTILE)
    (line,) = [one for one in screen(at_work.state, now=clock.now()) if "Train" in one]
    assert "on gpu-1@far" in line
    shown = holdfast("plan", "show", world.id, "--tasks").out
    assert "1/01#1  running" in shown
    assert "on gpu-1@far" in shown
    assert "\x1b[31m" not in shown
