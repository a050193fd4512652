"""What is done never runs twice, and what is open is never left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Holdfast
from tests.loop.kills import killed_at_random
from tests.loop.programs import good, shell, write
from tests.loop.world import World

RUN = ("loop", "run", "--track", "demo", "--with", "steps.toml")
KEEP_PLAN = shell("echo planned")
# Writes down each task that it is given.
DO = 'echo "$1" >> ran; test "$1" != "$(cat broken)"'


def at_execute(world: World, execute: list[str], *plan: str) -> None:
    """A run's file and a plan; the track is about to begin EXECUTE."""
    write(world, good(PLAN=KEEP_PLAN, EXECUTE=execute))
    world.plan(*plan)
    Path("broken").write_text("")
    world.start("EVALUATE_PLAN")
    world.do("pass")
    world.do("advance")


def ran() -> list[str]:
    return Path("ran").read_text().split()


def test_after_a_new_plan_only_the_open_tasks_run(world: World, holdfast: Holdfast) -> None:
    at_execute(world, shell(DO, "{task}"), "- [ ] 1.1 A", "- [ ] 1.2 B", "- [ ] 1.3 C")
    Path("broken").write_text("1.3")
    assert holdfast(*RUN).code == 8
    Path("broken").write_text("")
    holdfast("loop", "start", "PLAN")
    assert holdfast(*RUN).code == 0
    assert ran() == ["1.1", "1.2", "1.3", "1.3"]


def test_a_start_by_hand_keeps_what_show_just_said(world: World, holdfast: Holdfast) -> None:
    world.plan("- [ ] 1.1 A", "- [ ] 1.2 B", "- [ ] 1.3 C")
    holdfast("loop", "start", "EXECUTE")
    holdfast("loop", "task-done", "1.1")
    holdfast("loop", "start", "PLAN")
    holdfast("loop", "pass", "--output", "conductor/tracks/demo/plan.md", "--notes", "n")
    assert "1 of 3 tasks" in holdfast("loop", "start", "EXECUTE").out
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1"]
    assert "0 of 3 tasks" in holdfast("loop", "start", "EXECUTE", "--reset").out


@pytest.mark.parametrize("status", ["in_progress", "COMPLETED", "NOT_STARTED"])
def test_a_status_that_nobody_knows_is_no_reason_to_forget(world: World, status: str) -> None:
    world.start("EXECUTE", tasks_total=2)
    world.do("task_done", task="1.1")
    world.edit(
        lambda document: document["loop_state"]["checkpoints"]["EXECUTE"].update(status=status)
    )
    world.start("EXECUTE")
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1"]
    assert world.checkpoint("EXECUTE")["tasks_total"] == 2


def test_a_ticked_box_is_done(world: World, holdfast: Holdfast) -> None:
    at_execute(world, shell(DO, "{task}"), "- [x] 1.1 A", "- [ ] 1.2 B")
    assert holdfast(*RUN).code == 0
    assert ran() == ["1.2"]
    assert world.checkpoint("EXECUTE")["tasks_completed"] == 2


def test_a_box_that_its_program_ticked_before_it_failed_is_done(
    world: World, holdfast: Holdfast
) -> None:
    script = f"sed -i 's/ \\] 1.1/x] 1.1/' $LOOP_TRACK_DIR/plan.md; {DO}"
    at_execute(world, shell(script, "{task}"), "- [ ] 1.1 A", "- [ ] 1.2 B")
    Path("broken").write_text("1.1")
    assert holdfast(*RUN).code == 8
    assert holdfast(*RUN).code == 0
    assert ran() == ["1.1", "1.2"]


def test_a_box_that_another_tasks_program_ticked_is_not_run(
    world: World, holdfast: Holdfast
) -> None:
    script = f"sed -i 's/ \\] /x] /' $LOOP_TRACK_DIR/plan.md; {DO}"
    at_execute(world, shell(script, "{task}"), "- [ ] 1.1 A", "- [ ] 1.2 B")
    assert holdfast(*RUN).code == 0
    assert ran() == ["1.1"]
    assert world.checkpoint("EXECUTE")["completed_tasks"] == ["1.1", "1.2"]


def test_a_pass_by_hand_counts_the_ticked_boxes(world: World, holdfast: Holdfast) -> None:
    world.plan("- [ ] 1.1 A", "- [ ] 1.2 B")
    holdfast("loop", "start", "EXECUTE")
    holdfast("loop", "task-done", "1.1")
    assert holdfast("loop", "pass").code == 5
    world.plan("- [ ] 1.1 A", "- [x] 1.2 B")
    assert holdfast("loop", "pass").code == 0


def test_a_plan_that_grows_under_way_is_done_to_its_end(world: World, holdfast: Holdfast) -> None:
    script = f"test -e ran || echo '- [ ] 1.2 B' >> $LOOP_TRACK_DIR/plan.md; {DO}"
    at_execute(world, shell(script, "{task}"), "- [ ] 1.1 A")
    assert holdfast(*RUN).code == 0
    assert ran() == ["1.1", "1.2"]


@pytest.mark.parametrize(
    "line", ["- [ ] Task A: x", "- [] Task 3", "- [ ] Task: none", "-[ ] 1.2 B", "- [x]1.2 B"]
)
def test_a_line_that_is_meant_as_a_task_is_not_left_out(
    world: World, holdfast: Holdfast, line: str
) -> None:
    at_execute(world, shell(DO, "{task}"), "- [ ] 1.1 A", line)
    answer = holdfast(*RUN)
    assert (answer.code, f"line 2: {line}" in answer.err) == (1, True), answer.err
    assert not Path("ran").exists()
    assert f"line 2 is not read as a task: {line}" in holdfast("loop", "start", "EXECUTE").err


def test_boxes_without_an_id_beside_tasks_are_said(world: World, holdfast: Holdfast) -> None:
    lines = ("- [ ] 1.1 A", "  - [ ] a note beneath it", "- [ ] Everything is tested", "- [](x) y")
    at_execute(world, shell(DO, "{task}"), *lines, "```", "- [] code", "```")
    answer = holdfast(*RUN)
    assert answer.code == 0, answer.err
    assert [line for line in answer.err.splitlines() if "warning" in line] == [
        "warning: conductor/tracks/demo/plan.md, line 3 has no id and is no task: "
        "- [ ] Everything is tested"
    ]


def test_a_plan_that_is_not_utf8_is_said(world: World, holdfast: Holdfast) -> None:
    at_execute(world, shell(DO, "{task}"), "")
    (world.folder / "plan.md").write_bytes(b"- [ ] 1.1 A\n- [ ] 1.2 \xe9t\xe9\n")
    answer = holdfast(*RUN)
    assert (answer.code, "line 2: it is not UTF-8" in answer.err) == (1, True), answer.err


def test_a_title_that_no_program_can_be_given(world: World, holdfast: Holdfast) -> None:
    at_execute(world, shell(DO, "{task}"), f"- [ ] 1.1 {'long ' * 60_000}")
    answer = holdfast(*RUN)
    assert (answer.code, "cannot be told 1.1" in answer.err) == (1, True), answer.err
    assert "Shorten the task's title" in answer.err


@pytest.mark.clause("LOOP-43", "LOOP-44", "AMB-LOOP-04")
def test_a_run_that_is_killed_goes_on_at_the_next_open_task(world: World, tmp_path: Path) -> None:
    """Kill -9 during a run; the full size is in tests/proof."""
    killed_at_random(world, tmp_path, tasks=20, kills=4, longest=0.3, seed=4)
