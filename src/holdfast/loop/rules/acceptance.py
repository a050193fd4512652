"""A task is accepted, or an issue is fixed: once, counted, and never again."""

from __future__ import annotations

from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.rules import Decision
from holdfast.loop.rules.checkpoint import checkpoint_of, counted, status_of
from holdfast.loop.rules.model import DONE_TASKS, EXECUTE, FIX, MOST_TASKS, PASSED
from holdfast.loop.rules.tasks import key_of, same_task
from holdfast.loop.rules.transitions import refuse_illegal
from holdfast.loop.rules.updates import (
    Pen,
    body_of,
    one_line,
    refuse_too_many,
    step_of,
    trimmed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.loop.rules.model import LoopState


def task_done(state: LoopState, command: Any, now: int) -> Decision:
    """One task is accepted. A task that was reported before changes nothing."""
    step, task = step_of(state, command), one_line(command["task"])
    if not task:
        raise Usage("A task needs a name.", hint="holdfast loop task-done 2.3")
    if step == FIX:
        return _issue_fixed(state, command, task, now)
    checkpoint = checkpoint_of(state, step)
    known = checkpoint.get(DONE_TASKS) or []
    if any(same_task(task, one) for one in known):
        return Decision()
    refuse_illegal(step, status_of(state, step), PASSED)
    pen = Pen(state, step, now)
    done = (counted(checkpoint, "tasks_completed") or 0) + 1
    total = counted(checkpoint, "tasks_total")
    if total is not None:
        refuse_too_many("tasks_completed", done, total)
    if done > MOST_TASKS:
        raise Usage(f"More than {MOST_TASKS} tasks are no plan that a track can hold.")
    commit, message = one_line(command.get("commit") or ""), trimmed(command.get("message") or "")
    pen.count("tasks_completed", done)
    if total is not None:
        pen.count("tasks_total", total)
    pen.add(DONE_TASKS, [task])
    pen.set_mirrored("last_task", task)
    if commit:
        pen.set_mirrored("last_commit", commit)
        pen.add("commits", [{"sha": commit, "message": message, "task": task}])
    now_at = (checkpoint.get("progress") or {}).get("current_task")
    if now_at is None or same_task(str(now_at), task):
        pen.progress("current_task", one_line(command.get("next") or ""))
    return Decision([("task_done", body_of(pen, command, task=task, commit=commit))])


def _issue_fixed(state: LoopState, command: Any, issue: str, now: int) -> Decision:
    """What a task is to EXECUTE, an issue is to FIX."""
    checkpoint = checkpoint_of(state, FIX)
    applied = checkpoint.get("fixes_applied") or []
    if any(isinstance(one, dict) and one.get("issue") == issue for one in applied):
        return Decision()
    refuse_illegal(FIX, status_of(state, FIX), PASSED)
    pen = Pen(state, FIX, now)
    fixed, total = (
        counted(checkpoint, "issues_fixed") or 0,
        counted(checkpoint, "issues_total"),
    )
    if total is not None:
        refuse_too_many("issues_fixed", fixed + 1, total)
        pen.set("fixes_remaining", total - fixed - 1)
    pen.count("issues_fixed", fixed + 1)
    commit, fix = one_line(command.get("commit") or ""), trimmed(command.get("message") or "")
    pen.add("fixes_applied", [{"issue": issue, "fix": fix, "commit_sha": commit}])
    if checkpoint.get("current_issue", "") == issue:
        pen.set("current_issue", one_line(command.get("next") or ""))
    return Decision([("task_done", body_of(pen, command, task=issue, commit=commit))])


def take_in(pen: Pen, done_tasks: Sequence[str]) -> int:
    """Tasks that the plan says are done, though nobody reported them. How many are done now."""
    known = pen.checkpoint.get(DONE_TASKS) or []
    keys = {key_of(str(task)) for task in known}
    fresh = [task for task in map(one_line, done_tasks) if key_of(task) not in keys]
    pen.add(DONE_TASKS, fresh)
    return max(counted(pen.checkpoint, "tasks_completed") or 0, len(known) + len(fresh))


def finish_tasks(pen: Pen, done_tasks: Sequence[str]) -> None:
    """EXECUTE ends with all of its tasks, their number and their commits."""
    done = take_in(pen, done_tasks)
    total = counted(pen.checkpoint, "tasks_total")
    if total is not None and done < total:
        left = total - done
        raise Conflict(
            f"{EXECUTE} has {left} open task{'s' if left > 1 else ''}: {done} of {total} are done.",
            hint="Report them with `holdfast loop task-done`, or correct the number: "
            f"holdfast loop progress --tasks-total {done}",
            kind="open_tasks",
        )
    pen.count("tasks_completed", done)
    pen.count("tasks_total", done if total is None else max(total, done))
    if pen.checkpoint.get("commits") is None:
        pen.set("commits", [])
