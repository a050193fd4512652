"""`with ws.loop("t").step("EXECUTE", tasks=[...]) as step`: what a program sees."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.kernel.errors import Conflict, HoldfastError, Usage
from tests.loop.world import World

TASKS = ["1.1", "1.2", "1.3"]


def test_all_tasks_done_is_passed(world: World) -> None:
    with holdfast.open() as ws, ws.loop("demo").step("EXECUTE", tasks=TASKS) as step:
        assert step.remaining() == TASKS
        for number, task in enumerate(step.remaining()):
            assert step.done(task, commit=f"c{number}", message="Done")
        assert step.done("1.2") is False, "reported before"
    checkpoint = world.checkpoint("EXECUTE")
    assert (checkpoint["status"], checkpoint["tasks_completed"]) == ("PASSED", 3)
    assert [commit["sha"] for commit in checkpoint["commits"]] == ["c0", "c1", "c2"]


@pytest.mark.clause("LOOP-43")
def test_leaving_early_keeps_it_for_the_next_process(world: World) -> None:
    with holdfast.open() as ws, ws.loop("demo").step("EXECUTE", tasks=TASKS) as step:
        step.done("1.1")
    assert world.checkpoint("EXECUTE")["status"] == "IN_PROGRESS"
    with holdfast.open() as ws, ws.loop("demo").step("EXECUTE", tasks=TASKS) as step:
        assert step.remaining() == ["1.2", "1.3"]
        for task in step.remaining():
            step.done(task)
    assert world.checkpoint("EXECUTE")["status"] == "PASSED"
    assert world.checkpoint("EXECUTE")["tasks_total"] == 3


@pytest.mark.clause("LOOP-41")
def test_an_exception_is_a_failure_with_its_message(world: World) -> None:
    loop = holdfast.open().loop("demo")

    def work() -> None:
        with loop.step("EXECUTE", tasks=TASKS) as step:
            step.done("1.1")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        work()
    checkpoint = world.checkpoint("EXECUTE")
    assert checkpoint["status"] == "FAILED"
    assert checkpoint["notes"] == "ERROR: ZeroDivisionError: division by zero"
    with loop.step("EXECUTE", tasks=TASKS) as step:
        assert step.remaining() == ["1.2", "1.3"], "what is done never runs twice"


def test_an_exception_is_seen_even_where_it_cannot_be_recorded(world: World) -> None:
    loop = holdfast.open().loop("demo")

    def work() -> None:
        with loop.step("EXECUTE", tasks=TASKS):
            world.metadata.write_text("{ broken")
            raise ValueError("the real trouble")

    with pytest.raises(ValueError, match="the real trouble") as raised:
        work()
    assert "is corrupt" in raised.value.__notes__[0]
    assert world.metadata.read_text() == "{ broken"


def test_what_another_tool_decided_meanwhile_holds(world: World) -> None:
    loop = holdfast.open().loop("demo")
    with loop.step("EXECUTE", tasks=TASKS) as step:
        for task in TASKS:
            step.done(task)
        world.edit(
            lambda document: document["loop_state"]["checkpoints"]["EXECUTE"].update(
                status="BLOCKED"
            )
        )
    assert world.checkpoint("EXECUTE")["status"] == "BLOCKED"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_failure(world: World, kind: type[BaseException]) -> None:
    loop = holdfast.open().loop("demo")
    with pytest.raises(kind), loop.step("EXECUTE", tasks=TASKS):
        raise kind
    assert world.checkpoint("EXECUTE")["status"] == "IN_PROGRESS"


def test_a_program_that_runs_again_after_its_end_does_nothing_again(world: World) -> None:
    for _ in range(2):
        with holdfast.open() as ws, ws.loop("demo").step("EXECUTE", tasks=TASKS) as step:
            for task in step.remaining():
                step.done(task)
    assert world.kinds() == ["started", "task_done", "task_done", "task_done", "passed"]
    with holdfast.open() as ws, ws.loop("demo").step("EXECUTE", tasks=TASKS, again=True) as step:
        assert step.remaining() == TASKS


def test_a_plan_that_grew_after_its_end_goes_on(world: World) -> None:
    with holdfast.open() as ws, ws.loop("demo").step("EXECUTE", tasks=["1.1"]) as step:
        step.done("1.1")
    with holdfast.open() as ws, ws.loop("demo").step("EXECUTE", tasks=["1.1", "1.2"]) as step:
        assert "1.2" in step.remaining()


def test_the_tasks_of_the_plan_are_the_default(world: World) -> None:
    world.plan("- [x] 1.1 One", "- [ ] 1.2 Two")
    with holdfast.open() as ws, ws.loop("demo").step("EXECUTE") as step:
        assert step.remaining() == ["1.2"]


def test_the_other_steps_end_by_a_word(world: World) -> None:
    loop = holdfast.open().loop("demo")
    with loop.step("superpowers:writing-plans") as step:
        step.progress(current_phase=1, total_phases=2, current_task="thinking")
        step.passed(outputs=["plan.md"], notes="written")
    assert world.checkpoint("PLAN")["status"] == step.status == "PASSED"
    assert loop.advance() == "EVALUATE_PLAN"
    with loop.step("EVALUATE_PLAN") as step:
        step.blocked("nobody to ask")
    assert loop.state["document"]["loop_state"]["step_status"] == "BLOCKED"
    with loop.step("PLAN") as step, pytest.raises(Conflict):
        step.progress(current_phase=1)
    with loop.step("PLAN", again=True) as step:
        step.failed("no idea")
    assert world.checkpoint("PLAN")["notes"] == "ERROR: no idea"


def test_a_fourth_fix_cannot_be_entered(world: World) -> None:
    loop = holdfast.open().loop("demo")
    for _ in range(3):
        with loop.step("FIX") as step:
            step.failed("no")
    with pytest.raises(HoldfastError, match="Fix cycle limit exceeded"), loop.step("FIX"):
        pass


def test_what_is_no_list_of_tasks_is_refused(world: World) -> None:
    loop = holdfast.open().loop("demo")
    for tasks in ("1.1", ["1.1", "1.1"], [""], [7]):
        with pytest.raises(Usage):
            loop.step("EXECUTE", tasks=tasks)  # type: ignore[arg-type]
    with pytest.raises(Usage):
        holdfast.open().loop("../x")
    with pytest.raises(Usage):
        loop.step("NOPE")
