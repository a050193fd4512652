"""What the faces ask of a track: each order with what the plan adds to it, and what came of it."""

from __future__ import annotations

import os

from holdfast.loop.rules.checkpoint import checkpoint_of, counted, current_step, status_of
from holdfast.loop.rules.model import COMPLETE, EXECUTE, FIX, METADATA, PASSED
from holdfast.loop.rules.tasks import accounted, same_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.loop.rules.model import LoopState
    from holdfast.loop.track import Done, Track


def start(
    track: Track,
    step: str,
    *,
    tasks_total: int | None = None,
    issues_total: int | None = None,
    agent: str | None = None,
    resume_from: str | None = None,
    max_fix_cycles: int | None = None,
    reset: bool = False,
    resolve: bool = False,
    now: int,
) -> Done:
    """Begin a step, or go on with it: EXECUTE with the tasks that are done, FIX with the issues that
    the last evaluation left."""
    done_tasks: list[str] = []
    if step == EXECUTE and track.plan():
        known = {} if reset else checkpoint_of(track.read(), step)
        done_tasks, total = accounted(track.plan(), known)
        tasks_total = total if tasks_total is None else tasks_total
    if step == FIX and issues_total is None:
        issues_total = track.issues() or None
    given: dict[str, Any] = {
        "tasks_total": tasks_total,
        "issues_total": issues_total,
        "agent": agent,
        "max_fix_cycles": max_fix_cycles,
        "reset": reset or None,
        "resolve": resolve or None,
        "done_tasks": done_tasks or None,
    }
    asked = {key: value for key, value in given.items() if value is not None}
    done = track.execute({"do": "start", "step": step, **asked}, now=now)
    if step == EXECUTE:
        done.warnings += [
            f"plan.md, line {one['line']} is not read as a task: {one['text'][:80]}"
            for one in track.unread()
        ]
    if not done.outcome["queued"]:
        done.warnings += _doubts(checkpoint_of(done.state, step), step, resume_from)
    return done


def _doubts(checkpoint: Any, step: str, resume_from: str | None) -> list[str]:
    found = []
    last = str(checkpoint.get("last_task") or "")
    if resume_from and not same_task(resume_from, last):
        found.append(
            f"--resume-from {resume_from}: the last task that is done is {last or 'none'}."
        )
    for key, field in ((EXECUTE, "tasks_total"), (FIX, "issues_total")):
        if step == key and counted(checkpoint, field) is None:
            option = field.replace("_", "-")
            found.append(f"How many? Say --{option} N, so that progress means something.")
    return found


def passed(
    track: Track, step: str, *, outputs: Sequence[str], notes: str | None, folder: str, now: int
) -> Done:
    """A step, or the current one, is done; what the plan's boxes say is done counts."""
    asked: dict[str, Any] = {
        "do": "pass",
        "step": step,
        "output_files": list(outputs),
        "notes": notes,
    }
    state = track.read()
    if (step or current_step(state)) == EXECUTE:
        asked["done_tasks"] = accounted(track.plan(), checkpoint_of(state, EXECUTE))[0]
    done = track.execute(asked, now=now)
    done.warnings += [
        f"There is no file {path}; its name is recorded all the same."
        for path in outputs
        if not any(
            os.path.exists(os.path.join(place, path)) for place in (folder, track.workspace.root)
        )
    ]
    return done


def summary(state: LoopState, step: str) -> dict[str, Any]:
    """Where a track stands, and one of its steps."""
    return {
        "track": state["track"],
        "metadata": f"{state['folder']}/{METADATA}",
        "current_step": current_step(state),
        "step": step,
        "status": PASSED if step == COMPLETE else status_of(state, step),
        "checkpoint": dict(checkpoint_of(state, step)),
    }
