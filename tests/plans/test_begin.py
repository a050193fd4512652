"""Where a run begins: a phase, a task; which run is meant; and two who begin at once."""

from __future__ import annotations

import pytest

from holdfast.kernel.errors import NotFound, Usage
from holdfast.plans import runs
from tests.plans.samples import DECISION
from tests.plans.world import World, auto
from tests.processes import wait_for


def _four_plans(world: World) -> None:
    """Two phases, the second of two waves, two tasks each."""
    for name, fields in (("1/01", {}), ("2/01", {}), ("2/02", {"wave": 2}), ("2/03", {"wave": 2})):
        body = auto(world.note(f"{name}.1")) + auto(world.note(f"{name}.2"))
        world.plan(name, body, must_haves="{artifacts: [log]}", **fields)


@pytest.mark.parametrize("phase", ["2", "02"])
def test_a_run_that_begins_with_a_phase_leaves_out_those_before_it(
    world: World, phase: str
) -> None:
    _four_plans(world)
    code, answer, err = world.holdfast("plan", "run", "plans", "--phase", phase)
    assert code == 0, err
    assert (answer["data"]["done"], answer["data"]["total"]) == (6, 6)
    assert world.noted()[:2] == ["2/01.1", "2/01.2"]
    assert not [word for word in world.noted() if word.startswith("1/")]


@pytest.mark.parametrize("task", ["2/02#2", "02.2", "2.2"])
def test_a_run_that_begins_with_a_task_leaves_out_what_comes_before_it(
    world: World, task: str
) -> None:
    """The phases and waves before it, and what is before it in its plan; its neighbours run."""
    _four_plans(world)
    world.begin(task=task)
    assert world.run(begin=False)["status"] == "done"
    assert sorted(world.noted()) == ["2/02.2", "2/03.1", "2/03.2"]
    assert world.state()["plans"]["2/02"]["tasks"]["1"]["status"] == "skipped"
    text = (world.root / ".autopilot/phases/002/LOGBOOK.md").read_text()
    assert "| 1 work | skipped |" in text
    assert "## Plan 01" not in text


def test_the_goals_of_a_phase_that_is_left_out_are_not_looked_at(world: World) -> None:
    world.plan("1/01", auto("true"), must_haves="{artifacts: [never.txt]}")
    world.plan("2/01", auto(world.note("ran")))
    world.begin(phase="2")
    assert world.run(begin=False)["status"] == "done"
    assert world.noted() == ["ran"]


@pytest.mark.parametrize(
    "options",
    [{"phase": "3"}, {"phase": ".."}, {"task": "2/02#9"}, {"task": "#"}, {"task": "01.1"}],
)
def test_what_is_not_there_is_refused_before_anything_is_written(
    world: World, options: dict[str, str]
) -> None:
    _four_plans(world)
    with pytest.raises(Usage) as refused:
        world.begin(**options)
    assert refused.value.hint
    assert list(runs.every(world.workspace)) == []


@pytest.mark.parametrize("options", [{"task": "1/01#3"}, {"phase": "2"}])
def test_a_task_is_not_run_without_the_answer_that_it_needs(
    world: World, options: dict[str, str]
) -> None:
    """Left out, the checkpoint gives no answer, and the shell would see the braces."""
    ask, use = DECISION.format(attributes=' name="store"'), auto("echo {{gate.store}}")
    world.plan("1/01", auto("true") + ask + use, autonomous="false")
    world.plan("2/01", use)
    with pytest.raises(Usage, match=r"needs the answer \{\{gate.store\}\}"):
        world.begin(**options)
    world.begin(task="1/01#2")
    assert world.halted(begin=False).reason == "waiting_for_person", (
        "the checkpoint itself may be first"
    )


# Which run


def test_a_run_is_meant_by_a_unique_beginning_of_its_id(world: World) -> None:
    world.plan("1/01", auto("true"))
    ids = [world.begin()]
    while len({id[0] for id in ids}) == len(ids):  # there are sixteen first letters
        ids.append(world.begin())
    last = ids[-1]
    assert runs.find_run(world.workspace, last[:7])["id"] == last
    with pytest.raises(NotFound, match=f"runs begin with {last[0]}"):
        runs.find_run(world.workspace, last[0])
    for bad in ("../x", "a/b", "*", "%"):
        with pytest.raises(Usage):
            runs.find_run(world.workspace, bad)
    code, answer, err = world.holdfast("plan", "resume", last[:7])
    assert (code, answer["data"]["run"]) == (0, last), err


# Two at once


def test_of_two_runners_that_begin_together_one_runs(world: World) -> None:
    world.plan("1/01", auto(f"{world.note('begun')}; while ! test -e go; do sleep 0.02; done"))
    world.begin()
    runners = [world.process("plan", "resume", world.id, "--json") for _ in range(2)]
    wait_for(lambda: any(one.poll() is not None for one in runners))
    wait_for(lambda: world.noted() == ["begun"])
    (world.root / "go").touch()
    for one in runners:
        one.communicate(timeout=60)
    assert sorted(one.returncode for one in runners) == [0, 5]
    assert world.noted() == ["begun"]
    assert len(world.records("life_begun")) == 1


def test_of_two_who_run_the_same_plans_at_once_one_is_refused(world: World) -> None:
    world.plan("1/01", auto(f"{world.note('begun')}; while ! test -e go; do sleep 0.02; done"))
    runs = [world.process("plan", "run", "plans", "--json") for _ in range(4)]
    wait_for(lambda: sum(one.poll() is not None for one in runs) == 3)
    (world.root / "go").touch()
    for one in runs:
        one.communicate(timeout=60)
    assert sorted(one.returncode for one in runs) == [0, 5, 5, 5]
    assert world.noted() == ["begun"]
