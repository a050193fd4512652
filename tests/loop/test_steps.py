"""The five updates of a step, and what each superpower records."""

from __future__ import annotations

import re
from typing import Any

import pytest

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.loop.rules.checkpoint import is_due, problems, step_named
from holdfast.loop.rules.model import OWNERS, STATUSES
from tests.loop.world import STAMP, World


@pytest.mark.clause("LOOP-01")
def test_an_update_lands_in_the_tracks_file_and_in_its_history(world: World) -> None:
    world.start("PLAN")
    assert world.checkpoint("PLAN")["status"] == "IN_PROGRESS"
    assert str(world.metadata).endswith("conductor/tracks/demo/metadata.json")
    (event,) = world.events()
    assert (event["event"], event["step"], event["status"]) == ("started", "PLAN", "IN_PROGRESS")


@pytest.mark.clause("LOOP-02")
def test_the_file_alone_answers_where_it_is_and_why_it_failed(world: World) -> None:
    world.start("EXECUTE", tasks_total=2)
    world.do("task_done", task="1.1", commit="abc1234")
    world.do("fail", reason="The tests of 1.2 fail")
    other = World(world.root, "other")
    other.write(world.metadata.read_text())  # no journal knows this one
    state = other.state()
    checkpoint = state["document"]["loop_state"]["checkpoints"]["EXECUTE"]
    assert checkpoint["last_task"] == "1.1"
    assert checkpoint["completed_tasks"] == ["1.1"]
    assert checkpoint["notes"] == "ERROR: The tests of 1.2 fail"
    other.close()


@pytest.mark.clause("LOOP-03", "LOOP-27", "LOOP-12")
def test_a_start_records_status_agent_and_time(world: World) -> None:
    world.start("PLAN")
    checkpoint, loop = world.checkpoint("PLAN"), world.loop()
    assert checkpoint["status"] == loop["step_status"] == "IN_PROGRESS"
    assert checkpoint["agent"] == "superpowers:writing-plans"
    assert checkpoint["started_at"] == "2026-11-15T12:00:01Z"
    assert loop["step_started_at"] == checkpoint["started_at"]


@pytest.mark.clause("LOOP-04", "LOOP-21")
def test_progress_keeps_the_status_and_sets_progress(world: World) -> None:
    world.start("PLAN")
    fields = {
        "current_phase": 2,
        "total_phases": 5,
        "current_task": "Designing parameter schema",
        "tasks_completed": 5,
        "tasks_total": 35,
    }
    world.do("progress", fields=fields)
    checkpoint = world.checkpoint("PLAN")
    assert checkpoint["status"] == "IN_PROGRESS"
    assert checkpoint["progress"] == fields


@pytest.mark.parametrize(
    ("do", "words", "status"),
    [
        pytest.param("pass", {}, "PASSED", marks=pytest.mark.clause("LOOP-05")),
        pytest.param("fail", {"reason": "no"}, "FAILED", marks=pytest.mark.clause("LOOP-06")),
        pytest.param("block", {"reason": "no"}, "BLOCKED", marks=pytest.mark.clause("LOOP-07")),
    ],
)
@pytest.mark.clause("AMB-LOOP-09", "LOOP-18")
def test_every_end_is_a_completion(
    world: World, do: str, words: dict[str, Any], status: str
) -> None:
    world.start("EVALUATE_PLAN")
    assert world.checkpoint("EVALUATE_PLAN")["completed_at"] is None
    world.do(do, **words)
    checkpoint = world.checkpoint("EVALUATE_PLAN")
    assert checkpoint["status"] == world.loop()["step_status"] == status
    assert re.match(STAMP, checkpoint["completed_at"])
    world.start_as_person("EVALUATE_PLAN")
    assert world.checkpoint("EVALUATE_PLAN")["completed_at"] is None


@pytest.mark.clause("LOOP-08")
@pytest.mark.parametrize("superpower", sorted(OWNERS.values()))
def test_each_superpower_leaves_the_sequence_of_statuses(world: World, superpower: str) -> None:
    step = step_named(superpower)
    world.start(superpower)
    world.do("progress", fields={"current_task": "thinking"})
    world.do("pass", output_files=["a.md"], notes="done")
    world.start(superpower)
    world.do("fail", reason="broken")
    world.start(superpower)
    world.do("block", reason="waiting")
    statuses = [event["status"] for event in world.events() if "status" in event]
    ends = ["PASSED", "FAILED", "BLOCKED"]
    assert statuses == [status for end in ends for status in ("IN_PROGRESS", end)]
    assert world.checkpoint(step)["status"] == "BLOCKED"


@pytest.mark.clause("LOOP-09", "LOOP-10", "LOOP-11", "LOOP-13", "LOOP-14", "LOOP-15")
def test_the_loop_around_the_checkpoints(world: World) -> None:
    world.start("PLAN")
    loop = world.file()["loop_state"]
    assert loop["current_step"] == "PLAN"
    assert loop["step_status"] == loop["checkpoints"]["PLAN"]["status"]
    assert (loop["fix_cycle_count"], loop["max_fix_cycles"]) == (0, 3)
    assert set(loop["checkpoints"]) == {"PLAN"}
    world.do("block", reason="x")
    assert world.loop()["step_status"] == world.checkpoint("PLAN")["status"] == "BLOCKED"


@pytest.mark.clause("LOOP-16", "LOOP-17", "LOOP-19", "LOOP-20", "AMB-LOOP-08", "AMB-LOOP-11")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"status": None}, ["status is missing"]),
        ({"status": "DONE"}, [f"status 'DONE' is not one of {', '.join(STATUSES)}"]),
        ({"started_at": None}, ["started_at is missing"]),
        ({"agent": None}, ["agent is missing"]),
        ({"agent": 7}, ["agent is not a text"]),
        ({"last_updated": None}, ["last_updated is missing"]),
        ({"completed_at": "2026-11-15T12:00:00Z"}, ["completed_at is set while it is in progress"]),
        ({"last_updated": "2026-11-15T11:00:00Z"}, ["last_updated is before started_at"]),
        ({"notes": 1}, ["notes is not a text"]),
        ({"output_files": [1]}, ["output_files holds something that is no text"]),
        ({"progress": {"tasks_total": "3"}}, ["progress.tasks_total is not a count: '3'"]),
        (
            {"progress": {"tasks_completed": 4, "tasks_total": 3}},
            ["tasks_completed is 4, more than tasks_total, which is 3"],
        ),
    ],
)
def test_what_a_checkpoint_must_have(changes: dict[str, Any], said: list[str]) -> None:
    good: dict[str, Any] = {
        "status": "IN_PROGRESS",
        "started_at": "2026-11-15T12:00:00Z",
        "completed_at": None,
        "agent": "superpowers:writing-plans",
        "output_files": [],
        "notes": "",
        "last_updated": "2026-11-15T12:00:00Z",
    }
    assert list(problems({**good, **changes})) == said
    for status in ("NOT_STARTED", "SKIPPED"):
        assert list(problems({"status": status})) == []


@pytest.mark.clause("LOOP-22", "LOOP-23", "LOOP-18")
def test_optional_fields_have_their_defaults(world: World) -> None:
    world.start("BRAINSTORM")
    checkpoint = world.checkpoint("BRAINSTORM")
    assert checkpoint["output_files"] == []
    assert checkpoint["notes"] == ""
    assert checkpoint["completed_at"] is None
    assert "progress" not in checkpoint


@pytest.mark.clause("LOOP-24", "LOOP-25")
def test_every_write_moves_last_updated_and_never_back(world: World) -> None:
    world.start("PLAN")
    seen = [world.checkpoint("PLAN")["last_updated"]]
    for number in range(3):
        world.do("progress", fields={"current_phase": number})
        seen.append(world.checkpoint("PLAN")["last_updated"])
    assert seen == [f"2026-11-15T12:00:0{second}Z" for second in (1, 2, 3, 4)]
    world.now -= 3_600_000
    world.do("progress", fields={"current_phase": 9})
    assert world.checkpoint("PLAN")["last_updated"] == seen[-1], "a clock stepped back"
    for value in (*seen, world.file()["created_at"], world.loop()["step_started_at"]):
        assert re.match(STAMP, value)


@pytest.mark.parametrize(
    ("superpower", "step"),
    [
        pytest.param("superpowers:writing-plans", "PLAN", marks=pytest.mark.clause("LOOP-26")),
        pytest.param("superpowers:executing-plans", "EXECUTE", marks=pytest.mark.clause("LOOP-30")),
        pytest.param(
            "superpowers:systematic-debugging", "FIX", marks=pytest.mark.clause("LOOP-34")
        ),
        pytest.param(
            "superpowers:brainstorming", "BRAINSTORM", marks=pytest.mark.clause("LOOP-38")
        ),
    ],
)
def test_a_superpower_owns_a_key(world: World, superpower: str, step: str) -> None:
    world.start(superpower)
    assert list(world.loop()["checkpoints"]) == [step]
    assert world.checkpoint(step)["agent"] == superpower


@pytest.mark.clause("LOOP-28", "AMB-LOOP-13", "AMB-X-01")
def test_plan_is_due_after_five_minutes_and_nothing_else_is(world: World) -> None:
    world.start("PLAN")
    begun = world.now
    assert not is_due(world.state(), begun + 5 * clock.MINUTE - 1000)
    assert is_due(world.state(), begun + 5 * clock.MINUTE)
    world.now = begun + 5 * clock.MINUTE
    world.do("progress", fields={"current_phase": 1})
    assert not is_due(world.state(), world.now + 4 * clock.MINUTE)
    world.do("pass", output_files=["plan.md"], notes="done")
    world.start("EXECUTE", tasks_total=1)
    assert not is_due(world.state(), world.now + clock.DAY)


@pytest.mark.clause("LOOP-29")
def test_plan_passes_with_files_and_notes_or_not_at_all(world: World) -> None:
    world.start("PLAN")
    with pytest.raises(HoldfastError, match="none is named"):
        world.do("pass", notes="35 tasks")
    with pytest.raises(HoldfastError, match="summary"):
        world.do("pass", output_files=["plan.md"])
    world.do("pass", output_files=["plan.md"], notes="35 tasks")
    checkpoint = world.checkpoint("PLAN")
    assert (checkpoint["output_files"], checkpoint["notes"]) == (["plan.md"], "35 tasks")


@pytest.mark.clause("LOOP-31", "LOOP-32", "LOOP-33", "AMB-LOOP-03")
def test_execute_counts_its_tasks_and_commits(world: World) -> None:
    world.start("EXECUTE", tasks_total=3)
    assert world.checkpoint("EXECUTE")["tasks_total"] == 3
    for number in (1, 2, 3):
        done = world.do("task_done", task=f"1.{number}", commit=f"c0ffee{number}", message="Done")
        assert len(done.outcome["records"]) == 1, "one write a task"
        checkpoint = world.checkpoint("EXECUTE")
        assert checkpoint["tasks_completed"] == checkpoint["progress"]["tasks_completed"] == number
        assert checkpoint["last_task"] == f"1.{number}"
        assert checkpoint["last_commit"] == f"c0ffee{number}"
    world.do("pass")
    checkpoint = world.checkpoint("EXECUTE")
    assert checkpoint["status"] == "PASSED"
    assert checkpoint["tasks_total"] == checkpoint["progress"]["tasks_total"] == 3
    assert checkpoint["commits"][1] == {"sha": "c0ffee2", "message": "Done", "task": "1.2"}
    assert len(checkpoint["commits"]) == 3


@pytest.mark.clause("AMB-LOOP-03")
def test_counters_are_read_from_either_place(world: World) -> None:
    world.write(
        {
            "loop_state": {
                "current_step": "EXECUTE",
                "checkpoints": {
                    "EXECUTE": {
                        "status": "IN_PROGRESS",
                        "progress": {"tasks_completed": 4, "tasks_total": 9, "last_task": "1.4"},
                    }
                },
            }
        }
    )
    world.do("task_done", task="1.5")
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 5
    world.edit(
        lambda document: document["loop_state"]["checkpoints"]["EXECUTE"].update(tasks_completed=7)
    )
    world.do("task_done", task="1.6")
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 8, "the checkpoint's level comes first"
    assert world.checkpoint("EXECUTE")["progress"]["tasks_completed"] == 8


@pytest.mark.clause("LOOP-35", "LOOP-36", "LOOP-37")
def test_fix_counts_its_issues_and_ends_with_a_summary(world: World) -> None:
    world.start("FIX", issues_total=2)
    assert world.checkpoint("FIX")["issues_total"] == 2
    world.do("progress", fields={"issues_fixed": 0, "current_issue": "the parser hangs"})
    assert world.checkpoint("FIX")["current_issue"] == "the parser hangs"
    world.do("task_done", task="the parser hangs", message="bounded it", commit="abc")
    checkpoint = world.checkpoint("FIX")
    assert (checkpoint["issues_fixed"], checkpoint["fixes_remaining"]) == (1, 1)
    assert checkpoint["fixes_applied"] == [
        {"issue": "the parser hangs", "fix": "bounded it", "commit_sha": "abc"}
    ]
    with pytest.raises(HoldfastError, match="summary"):
        world.do("pass")
    world.do("pass", notes="Two issues fixed")
    assert world.checkpoint("FIX")["notes"] == "Two issues fixed"


@pytest.mark.clause("LOOP-39", "LOOP-40", "AMB-LOOP-17")
def test_brainstorm_starts_plainly_and_ends_with_files(world: World) -> None:
    world.start("BRAINSTORM")
    assert world.checkpoint("BRAINSTORM") == {
        "status": "IN_PROGRESS",
        "started_at": "2026-11-15T12:00:01Z",
        "completed_at": None,
        "agent": "superpowers:brainstorming",
        "output_files": [],
        "notes": "",
        "last_updated": "2026-11-15T12:00:01Z",
    }
    with pytest.raises(HoldfastError, match="none is named"):
        world.do("pass")
    world.do("pass", output_files=["brainstorm/options.md"])
    assert world.checkpoint("BRAINSTORM")["output_files"] == ["brainstorm/options.md"]


@pytest.mark.clause("LOOP-41", "LOOP-42")
def test_a_failure_says_what_in_its_notes(world: World) -> None:
    world.start("PLAN")
    world.do("fail", reason="Missing required spec.md file at conductor/tracks/demo/spec.md")
    checkpoint = world.checkpoint("PLAN")
    assert checkpoint["status"] == "FAILED"
    assert checkpoint["notes"] == (
        "ERROR: Missing required spec.md file at conductor/tracks/demo/spec.md"
    )
    world.start("PLAN")
    world.do("fail", reason="ERROR: said with its prefix")
    assert world.checkpoint("PLAN")["notes"] == "ERROR: said with its prefix"


@pytest.mark.clause("AMB-LOOP-16")
def test_a_block_leaves_a_blocker(world: World) -> None:
    world.start("EXECUTE", tasks_total=1)
    world.do("block", reason="The API key is missing")
    assert world.checkpoint("EXECUTE")["notes"] == "BLOCKED: The API key is missing"
    assert world.file()["blockers"] == [
        {
            "id": "blocker-1",
            "description": "The API key is missing",
            "blocked_at": "2026-11-15T12:00:02Z",
            "blocked_step": "EXECUTE",
            "status": "ACTIVE",
        }
    ]
    world.start_as_person("EXECUTE")
    assert world.file()["blockers"][0]["status"] == "RESOLVED"


@pytest.mark.clause("AMB-LOOP-12")
def test_the_second_fix_never_wipes_the_first(world: World) -> None:
    world.start("FIX", issues_total=1)
    world.do("task_done", task="first issue")
    world.do("pass", notes="first cycle")
    world.start("FIX", issues_total=1)
    world.do("task_done", task="second issue")
    world.do("pass", notes="second cycle")
    assert world.checkpoint("FIX")["notes"] == "second cycle"
    assert [one["issue"] for one in world.checkpoint("FIX")["fixes_applied"]] == ["second issue"]
    told = [event.get("notes") or event.get("task") for event in world.events()]
    assert [word for word in told if word] == [
        "first issue",
        "first cycle",
        "second issue",
        "second cycle",
    ]
