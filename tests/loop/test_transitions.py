"""Which status may follow which, which step comes next, and how often FIX may run."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.kernel.errors import Conflict, NotAllowed, Usage
from holdfast.loop.rules.model import EVALUATE_EXECUTION, FIX
from tests.loop.world import World

ENDS: dict[str, dict[str, Any]] = {
    "pass": {"output_files": ["a.md"], "notes": "n"},
    "fail": {"reason": "r"},
    "block": {"reason": "r"},
}


@pytest.mark.clause("AMB-LOOP-15")
@pytest.mark.parametrize("end", ENDS)
def test_only_a_start_leads_back_from_an_end(world: World, end: str) -> None:
    world.start("EVALUATE_PLAN")
    world.do(end, **ENDS[end])
    before = world.metadata.read_text()
    for do, words in [*ENDS.items(), ("progress", {"fields": {"current_phase": 1}})]:
        with pytest.raises(Conflict, match="a new start") as refused:
            world.do(do, **words)
        assert refused.value.kind == "illegal_transition"
        assert "holdfast loop start EVALUATE_PLAN" in refused.value.hint
    with pytest.raises(Conflict):
        world.do("task_done", task="1.1")
    assert world.metadata.read_text() == before
    world.start_as_person("EVALUATE_PLAN")
    assert world.checkpoint("EVALUATE_PLAN")["status"] == "IN_PROGRESS"


@pytest.mark.clause("AMB-LOOP-15")
@pytest.mark.parametrize("do", [*ENDS, "progress", "task_done"])
def test_nothing_comes_before_a_start(world: World, do: str) -> None:
    world.folder.mkdir(parents=True)
    words = ENDS.get(do, {"task": "1.1", "fields": {"current_phase": 1}})
    with pytest.raises(Conflict, match="NOT_STARTED"):
        world.do(do, **words)
    assert not world.metadata.exists()


@pytest.mark.clause("AMB-LOOP-10")
def test_an_end_does_not_advance(world: World) -> None:
    world.start("PLAN")
    world.do("pass", output_files=["plan.md"], notes="n")
    assert world.loop()["current_step"] == "PLAN"
    world.do("advance")
    assert world.loop()["current_step"] == "EVALUATE_PLAN"
    assert world.loop()["step_status"] == "NOT_STARTED"
    assert world.checkpoint("EVALUATE_PLAN") == {"status": "NOT_STARTED"}


@pytest.mark.clause("AMB-LOOP-10", "AMB-LOOP-11")
@pytest.mark.parametrize(
    ("step", "end", "following"),
    [
        ("BRAINSTORM", "pass", "PLAN"),
        ("PLAN", "pass", "EVALUATE_PLAN"),
        ("EVALUATE_PLAN", "pass", "EXECUTE"),
        ("EVALUATE_PLAN", "fail", "PLAN"),
        ("EXECUTE", "pass", "EVALUATE_EXECUTION"),
        ("EVALUATE_EXECUTION", "pass", "COMPLETE"),
        ("EVALUATE_EXECUTION", "fail", "FIX"),
        ("FIX", "pass", "EVALUATE_EXECUTION"),
        ("BUSINESS_SYNC", "pass", "COMPLETE"),
    ],
)
def test_the_table_of_steps(world: World, step: str, end: str, following: str) -> None:
    world.start(step)
    world.do(end, **ENDS[end])
    world.do("advance")
    assert world.loop()["current_step"] == following


@pytest.mark.clause("AMB-LOOP-10")
@pytest.mark.parametrize("step", ["BRAINSTORM", "PLAN", "EXECUTE", "FIX", "BUSINESS_SYNC"])
def test_a_failure_that_the_table_does_not_know_goes_nowhere(world: World, step: str) -> None:
    world.start(step)
    world.do("fail", reason="r")
    with pytest.raises(Conflict, match="there is no step after that"):
        world.do("advance")
    assert world.loop()["current_step"] == step


def test_a_running_step_is_not_advanced_from(world: World) -> None:
    world.start("PLAN")
    with pytest.raises(Conflict, match="PLAN is IN_PROGRESS"):
        world.do("advance")


@pytest.mark.clause("AMB-LOOP-10")
def test_complete_is_passed_and_the_end(world: World) -> None:
    world.start(EVALUATE_EXECUTION)
    world.do("pass")
    world.do("advance")
    document = world.file()
    assert (document["status"], document["completed_at"]) == ("complete", "2026-11-15T12:00:03Z")
    assert document["loop_state"]["step_status"] == "PASSED"
    with pytest.raises(Conflict, match="at its end"):
        world.do("advance")
    with pytest.raises(Usage, match="where a track ends"):
        world.start("COMPLETE")


@pytest.mark.clause("AMB-LOOP-10")
def test_business_sync_comes_after_the_evaluation_where_it_is_required(world: World) -> None:
    world.write({"loop_state": {"checkpoints": {"BUSINESS_SYNC": {"required": True}}}})
    world.start(EVALUATE_EXECUTION)
    world.do("pass")
    world.do("advance")
    assert world.loop()["current_step"] == "BUSINESS_SYNC"


def test_and_where_it_is_asked_for(world: World) -> None:
    world.start(EVALUATE_EXECUTION)
    world.do("pass")
    world.do("advance", business_sync=True)
    assert world.loop()["current_step"] == "BUSINESS_SYNC"


def cycle(world: World) -> None:
    world.start(EVALUATE_EXECUTION)
    world.do("fail", reason="two tests fail")
    world.do("advance")


@pytest.mark.clause("AMB-LOOP-01", "AMB-LOOP-02", "LOOP-14")
def test_exactly_three_fix_cycles_run_and_the_fourth_escalates(world: World) -> None:
    for number in (1, 2, 3):
        cycle(world)
        assert (world.loop()["current_step"], world.loop()["step_status"]) == (FIX, "NOT_STARTED")
        assert world.loop()["fix_cycle_count"] == number - 1, "the start counts, nothing before it"
        world.start(FIX)
        assert world.loop()["fix_cycle_count"] == number
        world.start(FIX)  # resumed: the same cycle
        assert world.loop()["fix_cycle_count"] == world.checkpoint(FIX)["cycle"] == number
        world.do("pass", notes="fixed")
        world.do("advance")
    cycle(world)
    assert (world.loop()["current_step"], world.loop()["step_status"]) == (FIX, "BLOCKED")
    assert world.loop()["fix_cycle_count"] == 3
    assert world.checkpoint(FIX)["status"] == "BLOCKED"
    (blocker,) = world.file()["blockers"]
    assert blocker["description"] == "Fix cycle limit exceeded (3 cycles)"
    assert (blocker["blocked_step"], blocker["status"]) == (FIX, "ACTIVE")


@pytest.mark.clause("AMB-LOOP-01")
def test_a_fourth_start_escalates_too_and_a_higher_limit_lets_it_run(world: World) -> None:
    for _ in range(3):
        world.start(FIX)
        world.do("fail", reason="r")
    world.start(FIX)
    assert world.checkpoint(FIX)["status"] == "BLOCKED"
    world.start(FIX)
    assert len(world.file()["blockers"]) == 1, "one blocker, however often it is asked"
    assert world.loop()["fix_cycle_count"] == 3
    with pytest.raises(NotAllowed, match="Only a person may resolve the blocker of FIX"):
        world.start(FIX, max_fix_cycles=4)
    world.start_as_person(FIX, max_fix_cycles=4)
    assert world.checkpoint(FIX)["status"] == "IN_PROGRESS"
    assert (world.loop()["fix_cycle_count"], world.loop()["max_fix_cycles"]) == (4, 4)
    assert world.file()["blockers"][0]["status"] == "RESOLVED"


@pytest.mark.clause("AMB-LOOP-10")
def test_a_blocked_step_waits_for_its_blocker(world: World) -> None:
    world.start("EXECUTE")
    world.do("block", reason="no key")
    done = world.do("advance")
    assert done.state["escalated"] == {"step": "EXECUTE", "reason": "no key"}
    assert world.loop()["step_status"] == "BLOCKED"
    assert world.do("advance").outcome["records"] == [], "said once"
    world.edit(lambda document: document["blockers"][0].update(status="RESOLVED"))
    world.do("advance")
    assert (world.loop()["current_step"], world.loop()["step_status"]) == ("EXECUTE", "NOT_STARTED")


@pytest.mark.clause("AMB-LOOP-11")
def test_skipped_is_read_and_never_written(world: World) -> None:
    world.write(
        {"loop_state": {"current_step": "PLAN", "checkpoints": {"PLAN": {"status": "SKIPPED"}}}}
    )
    world.do("advance")
    assert world.loop()["current_step"] == "EVALUATE_PLAN"
    assert world.checkpoint("PLAN") == {"status": "SKIPPED"}


@pytest.mark.clause("AMB-LOOP-11")
def test_a_new_track_of_the_third_format_begins_with_plan(world: World) -> None:
    world.write(
        {"version": 3, "superpower_enhanced": True, "loop_state": {"current_step": "NOT_STARTED"}}
    )
    world.start("PLAN")
    world.do("pass", output_files=["plan.md"], notes="n")
    world.do("advance")
    assert world.loop()["current_step"] == "EVALUATE_PLAN"
    assert world.file()["superpower_enhanced"] is True


def test_every_start_of_execute_keeps_what_is_done_but_a_reset(world: World) -> None:
    world.start("EXECUTE", tasks_total=2)
    world.do("task_done", task="1.1")
    world.do("fail", reason="r")
    world.start("EXECUTE")
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1"]
    world.do("task_done", task="1.2")
    world.do("pass")
    world.start("EXECUTE", tasks_total=2)
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2"]
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 2
    world.start("EXECUTE", tasks_total=2, reset=True)
    assert "completed_tasks" not in world.checkpoint("EXECUTE")
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 0
