"""Resuming at the exact task: which one is next, and the command that continues there."""

from __future__ import annotations

import os
import shlex
from typing import Any

import pytest

from holdfast.loop.rules.orchestrator import command_of
from holdfast.loop.rules.tasks import plain_tasks, remaining, same_task, tasks_of
from tests.cli.conftest import Holdfast
from tests.loop.world import World

PLAN = (
    "# Plan",
    "- [x] Task 1.1: Read the code <!-- abc1234 -->",
    "- [ ] **Task 1.2**: Write the parser",
    "  - [ ] a detail without an id",
    "```",
    "- [ ] Task 9.9: an example in a fence",
    "```",
    "- [~] 2.1 Handle quotes",
    "* [!] T7 - stuck on something",
    "1. [ ] AUTH-12: sign in",
)


def test_the_tasks_of_a_plan() -> None:
    found = tasks_of("\n".join(PLAN))
    assert [(task["id"], task["mark"]) for task in found] == [
        ("1.1", "x"),
        ("1.2", " "),
        ("2.1", "~"),
        ("T7", "!"),
        ("AUTH-12", " "),
    ]
    assert found[1]["title"] == "Write the parser"
    assert found[0]["title"] == "Read the code"


def test_a_plan_without_ids_has_its_outermost_boxes() -> None:
    found = tasks_of("- [ ] Read\n  - [ ] twice\n- [x] Write\n- [ ] Read\n")
    assert [task["id"] for task in found] == ["Read", "Write", "Read#2"]
    assert tasks_of("no boxes here\n- [link](x)\n") == []


def test_a_task_has_one_name_with_and_without_its_noun() -> None:
    assert same_task("Task 1.3", "1.3")
    assert not same_task("1.3", "1.30")


@pytest.mark.clause("AMB-LOOP-04")
@pytest.mark.parametrize(
    ("marks", "checkpoint", "left"),
    [
        ("   ", {}, "abc"),
        ("x  ", {"last_task": "a"}, "bc"),
        ("x  ", {"last_task": "b"}, "bc"),  # its own box is open: it is begun again
        ("xx ", {"last_task": "b"}, "c"),
        ("   ", {"completed_tasks": ["a", "c"], "last_task": "c"}, "b"),  # none is skipped
        ("x x", {"completed_tasks": ["b"], "last_task": "b"}, ""),
        ("   ", {"completed_tasks": ["a"], "last_task": "Task a"}, "bc"),
    ],
)
def test_the_next_task_is_the_first_that_is_not_done(
    marks: str, checkpoint: dict[str, Any], left: str
) -> None:
    plan = "\n".join(f"- [{mark}] {name}" for mark, name in zip(marks, "abc", strict=True))
    assert "".join(task["id"] for task in remaining(tasks_of(plan), checkpoint)) == left


@pytest.mark.clause("AMB-LOOP-04", "AMB-LOOP-05")
@pytest.mark.parametrize(
    ("checkpoint", "left"),
    [
        ({}, "abc"),
        ({"last_task": "b"}, "c"),  # the last completed one, said by a tool that keeps no list
        ({"progress": {"last_task": "a"}}, "bc"),
        ({"last_task": "unknown"}, "abc"),
        ({"completed_tasks": ["c"], "last_task": "c"}, "ab"),
    ],
)
def test_a_list_of_tasks_has_no_boxes(checkpoint: dict[str, Any], left: str) -> None:
    assert "".join(task["id"] for task in remaining(plain_tasks("abc"), checkpoint)) == left


@pytest.mark.clause("LOOP-43")
def test_another_process_finds_the_exact_state(world: World) -> None:
    world.start("EXECUTE", tasks_total=5)
    world.do("task_done", task="1.1", commit="aaa")
    world.do("task_done", task="1.2", commit="bbb")
    before = world.metadata.read_bytes()
    world.close()
    other = World(world.root)
    checkpoint = other.state()["document"]["loop_state"]["checkpoints"]["EXECUTE"]
    assert (checkpoint["last_task"], checkpoint["last_commit"]) == ("1.2", "bbb")
    assert (checkpoint["tasks_completed"], checkpoint["tasks_total"]) == (2, 5)
    assert other.metadata.read_bytes() == before, "reading changes nothing"
    other.close()


@pytest.mark.clause("LOOP-44")
def test_the_command_goes_on_from_the_last_task(world: World, holdfast: Holdfast) -> None:
    world.plan("- [ ] 1.1 One", "- [ ] 1.2 Two", "- [ ] 1.3 Three")
    world.start("EXECUTE", tasks_total=3)
    world.do("task_done", task="1.1")
    answer = holdfast("loop", "resume", "--json")
    folder = "conductor/tracks/demo"
    assert answer.data["command"] == [
        "superpowers:executing-plans",
        "--plan",
        f"{folder}/plan.md",
        "--track-dir",
        folder,
        "--metadata",
        f"{folder}/metadata.json",
        "--track-id",
        "demo",
        "--resume-from",
        "1.1",
    ]
    assert (answer.data["next_task"], answer.data["open_tasks"]) == ("1.2", 2)
    shown = holdfast("loop", "resume").out
    assert "--resume-from 1.1" in shown
    assert "1.2  Two  (2 open tasks)" in shown


@pytest.mark.clause("AMB-LOOP-05")
def test_before_the_first_task_there_is_nothing_to_resume_from(world: World) -> None:
    world.start("EXECUTE", tasks_total=3)
    assert "--resume-from" not in command_of(world.state(), "EXECUTE")
    world.start("PLAN")
    world.do("progress", fields={"current_phase": 2})
    assert "--resume-from" not in command_of(world.state(), "PLAN")
    world.start("PLAN")
    assert world.checkpoint("PLAN")["progress"] == {"current_phase": 2}, (
        "run again with what it knew"
    )


@pytest.mark.clause("AMB-LOOP-17")
def test_the_parameters_of_each_superpower(world: World) -> None:
    world.start("PLAN")
    state, folder = world.state(), "conductor/tracks/demo"
    assert command_of(state, "PLAN", ["a.md", "b.md"])[1:] == [
        "--spec",
        f"{folder}/spec.md",
        "--output-dir",
        folder,
        "--context-files",
        "a.md,b.md",
        "--track-id",
        "demo",
        "--metadata",
        f"{folder}/metadata.json",
    ]
    assert command_of(state, "FIX")[1:] == [
        "--failures",
        f"{folder}/evaluation-report.md",
        "--track-dir",
        folder,
        "--metadata",
        f"{folder}/metadata.json",
        "--track-id",
        "demo",
    ]
    assert "--metadata" not in command_of(state, "BRAINSTORM")
    assert command_of(state, "BRAINSTORM")[-4:] == [
        "--output-dir",
        f"{folder}/brainstorm",
        "--track-id",
        "demo",
    ]
    assert command_of(state, "EVALUATE_PLAN") == []


# The step after one that ended


@pytest.mark.clause("LOOP-44", "AMB-LOOP-10")
def test_after_a_passed_step_the_next_one_is_named_with_its_command(
    world: World, holdfast: Holdfast
) -> None:
    world.plan("- [ ] 1.1 One", "- [ ] 1.2 Two")

    def resumed() -> tuple[str, str, str]:
        answer = holdfast("loop", "resume", "--json")
        shown = holdfast("loop", "resume").out
        command = answer.data["command"]
        assert shlex.join(command) in shown
        assert answer.data["next_step"] in shown
        return answer.data["step"], answer.data["next_step"], " ".join(command[:4])

    world.start("PLAN")
    assert resumed()[:2] == ("PLAN", "PLAN")
    world.do("pass", output_files=["plan.md"], notes="Planned")
    assert resumed() == ("PLAN", "EVALUATE_PLAN", "holdfast loop start EVALUATE_PLAN")
    # The command runs as it stands.
    assert holdfast(*holdfast("loop", "resume", "--json").data["command"][1:]).code == 0
    world.do("pass")
    assert resumed()[:2] == ("EVALUATE_PLAN", "EXECUTE")
    assert resumed()[2].startswith("superpowers:executing-plans --plan")
    assert "1.1  One  (2 open tasks)" in holdfast("loop", "resume").out
    world.do("advance")
    world.start("EXECUTE", tasks_total=2)
    for task in ("1.1", "1.2"):
        world.do("task_done", task=task)
    world.do("pass")
    assert resumed()[1:] == ("EVALUATE_EXECUTION", "holdfast loop start EVALUATE_EXECUTION")
    world.start("EVALUATE_EXECUTION")
    world.do("fail", reason="Too slow")
    assert resumed()[1:] == (
        "FIX",
        "superpowers:systematic-debugging --failures "
        "conductor/tracks/demo/evaluation-report.md --track-dir",
    )
    world.start("EVALUATE_EXECUTION")
    world.do("pass")
    assert resumed()[1:] == ("COMPLETE", "holdfast loop advance --track")
    world.do("advance")
    assert holdfast("loop", "resume", "--json").data["command"] == []


def test_a_fix_beyond_the_limit_is_left_to_a_person(world: World, holdfast: Holdfast) -> None:
    world.start("EVALUATE_EXECUTION")
    world.do("fail", reason="Too slow")
    world.edit(lambda document: document["loop_state"].update(fix_cycle_count=3))
    answer = holdfast("loop", "resume")
    assert "Next  FIX, when you allow more than 3 fix cycles" in answer.out
    assert "Run   holdfast loop advance --track demo" in answer.out


# One fact in two places


@pytest.mark.clause("AMB-LOOP-03")
def test_the_last_task_is_the_same_in_both_places(world: World, holdfast: Holdfast) -> None:
    world.plan("- [ ] 1.1 One", "- [ ] 1.2 Two", "- [ ] 1.3 Three", "- [ ] 1.4 Four")
    world.start("EXECUTE", tasks_total=4)
    world.do("task_done", task="1.1", commit="aaa")

    def both(name: str) -> tuple[object, object]:
        checkpoint = world.checkpoint("EXECUTE")
        return checkpoint[name], checkpoint["progress"][name]

    def edit(**fields: object) -> None:
        def change(document: dict[str, Any]) -> None:
            document["loop_state"]["checkpoints"]["EXECUTE"]["progress"].update(fields)

        world.edit(change)

    # Another tool writes into `progress` alone.
    edit(last_task="1.2", last_commit="bbb", tasks_completed=2)
    assert holdfast("loop", "resume", "--json").data["resume_from"] == "1.2"
    world.do("progress", fields={"current_task": "1.3"})
    assert both("last_task") == ("1.2", "1.2")
    assert both("last_commit") == ("bbb", "bbb")
    assert both("tasks_completed") == (2, 2)
    world.do("task_done", task="1.3", commit="ccc")
    assert both("last_task") == ("1.3", "1.3")
    assert both("last_commit") == ("ccc", "ccc")
    # And then into the checkpoint alone.
    world.edit(
        lambda document: document["loop_state"]["checkpoints"]["EXECUTE"].update(last_task="1.4")
    )
    world.do("progress", fields={"current_task": ""})
    assert both("last_task") == ("1.4", "1.4")


@pytest.mark.parametrize("width", [60, 80])
def test_a_track_fits_a_narrow_terminal(
    world: World, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    world.plan(*(f"- [ ] 1.{number} Task" for number in range(1, 40)))
    world.start("PLAN")
    world.do(
        "pass", output_files=["plan.md"], notes="Planned the whole of it, in great detail " * 3
    )
    world.start("EXECUTE", tasks_total=39)
    world.do("task_done", task="1.1", commit="a" * 40, next="1.2 the task that takes very long")
    size = os.terminal_size((width, 40))
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: size)
    lines = holdfast("loop", "show").out.splitlines()
    assert max(len(line) for line in lines) <= width
    text = " ".join(" ".join(lines).split())
    assert "1 of 39 tasks" in text
    assert "last 1.1" in text
