"""Every operation on a track, through the command line, MCP and the library: one outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.estop.stop import stop
from holdfast.kernel.workspace import discover
from tests import faces as shared
from tests.faces import FACES, Faces, Operation

faces = shared.faces

PLAN = "- [x] 1.1 Read the spec\n- [ ] 1.2 Write the parser\n- [ ] 1.3 Test it\n"
REPORT = "- [ ] The title is wrong\n- [ ] The page is slow\n"
DEMO = ("--track", "demo")


def track(*steps: str) -> Callable[[], None]:
    """A track with a plan and a report, whose steps were started one after the other."""

    def set_up() -> None:
        folder = Path("conductor/tracks/demo")
        folder.mkdir(parents=True)
        (folder / "plan.md").write_text(PLAN)
        (folder / "evaluation-report.md").write_text(REPORT)
        with holdfast.open() as workspace:
            for step in steps:
                workspace.loop("demo").step(step).__enter__()

    return set_up


def passed(step: str) -> Callable[[], None]:
    def set_up() -> None:
        track(step)()
        with holdfast.open() as workspace:
            workspace.loop("demo").step(step).passed(outputs=["plan.md"], notes="written")

    return set_up


def stopped(before: Callable[[], None]) -> Callable[[], None]:
    def set_up() -> None:
        before()
        workspace = discover()
        stop(workspace, "enough", by="tester", now=0)
        workspace.close()

    return set_up


def start(step: str, before: Callable[[], None], name: str = "") -> Operation:
    return Operation(
        name or f"start {step}",
        before,
        ("loop", "start", step, *DEMO),
        "step",
        {"do": "start", "step": step, "track": "demo"},
        lambda workspace: workspace.loop("demo").step(step).__enter__(),
    )


TASK_DONE = Operation(
    "task-done",
    track("EXECUTE"),
    ("loop", "task-done", "1.2", "--commit", "c0ffee", "--message", "Parse", *DEMO),
    "step",
    {"do": "task_done", "task": "1.2", "commit": "c0ffee", "message": "Parse", "track": "demo"},
    lambda workspace: (
        workspace.loop("demo").step("EXECUTE").done("1.2", commit="c0ffee", message="Parse")
    ),
)
ADVANCE = Operation(
    "advance",
    passed("PLAN"),
    ("loop", "advance", *DEMO),
    "step",
    {"do": "advance", "track": "demo"},
    lambda workspace: workspace.loop("demo").advance(),
)
OPERATIONS = [
    start("PLAN", lambda: None, "start of a track that does not exist"),
    start("PLAN", track()),
    start("EXECUTE", track()),
    start("EXECUTE", track("EXECUTE"), "start EXECUTE again"),
    start("FIX", track()),
    Operation(
        "progress",
        track("PLAN"),
        ("loop", "progress", "--current-phase", "1", "--current-task", "reading", *DEMO),
        "step",
        {
            "do": "progress",
            "progress": {"current_phase": 1, "current_task": "reading"},
            "track": "demo",
        },
        lambda workspace: (
            workspace.loop("demo").step("PLAN").progress(current_phase=1, current_task="reading")
        ),
    ),
    Operation(
        "progress of nothing",
        track("PLAN"),
        ("loop", "progress", *DEMO),
        "step",
        {"do": "progress", "track": "demo"},
        lambda workspace: workspace.loop("demo").step("PLAN").progress(),
        fails=True,
    ),
    Operation(
        "progress that nobody knows",
        track("PLAN"),
        ("loop", "progress", "--mood", "good", *DEMO),
        "step",
        {"do": "progress", "progress": {"mood": "good"}, "track": "demo"},
        lambda workspace: workspace.loop("demo").step("PLAN").progress(mood="good"),
        fails=True,
    ),
    TASK_DONE,
    Operation(
        "pass PLAN",
        track("PLAN"),
        ("loop", "pass", "--output", "plan.md", "--notes", "written", *DEMO),
        "step",
        {"do": "pass", "outputs": ["plan.md"], "notes": "written", "track": "demo"},
        lambda workspace: (
            workspace.loop("demo").step("PLAN").passed(outputs=["plan.md"], notes="written")
        ),
    ),
    Operation(
        "pass EXECUTE with open tasks",
        track("EXECUTE"),
        ("loop", "pass", *DEMO),
        "step",
        {"do": "pass", "track": "demo"},
        lambda workspace: workspace.loop("demo").step("EXECUTE").passed(),
        fails=True,
    ),
    Operation(
        "fail",
        track("EXECUTE"),
        ("loop", "fail", "no database", *DEMO),
        "step",
        {"do": "fail", "reason": "no database", "track": "demo"},
        lambda workspace: workspace.loop("demo").step("EXECUTE").failed("no database"),
    ),
    Operation(
        "block",
        track("EXECUTE"),
        ("loop", "block", "no key", *DEMO),
        "step",
        {"do": "block", "reason": "no key", "track": "demo"},
        lambda workspace: workspace.loop("demo").step("EXECUTE").blocked("no key"),
    ),
    ADVANCE,
    start("PLAN", stopped(track()), "start under a stop")._replace(fails=True),
    ADVANCE._replace(name="advance under a stop", setup=stopped(passed("PLAN")), fails=True),
    TASK_DONE._replace(name="task-done under a stop", setup=stopped(track("EXECUTE")), fails=True),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_each_face_leaves_the_same_records_and_files(operation: Operation, faces: Faces) -> None:
    assert operation.faces == [*FACES]
    faces.compare(operation)


def test_a_report_under_a_stop_is_recorded_before_the_refusal(faces: Faces) -> None:
    operation = TASK_DONE._replace(setup=stopped(track("EXECUTE")), fails=True)
    for trace in faces.traces(operation).values():
        assert "task_done" in [kind for _, kind, _, _ in trace.records]


def test_a_stop_does_not_fail_the_step_that_it_interrupts(repository: Path) -> None:
    track()()

    def work() -> None:
        with step:
            stopped(lambda: None)()
            step.done("1.2")

    with holdfast.open() as workspace:
        step = workspace.loop("demo").step("EXECUTE")
        with pytest.raises(holdfast.HoldfastError, match="enough"):
            work()
        assert step.status == "IN_PROGRESS"
        assert step.remaining() == ["1.3"]
