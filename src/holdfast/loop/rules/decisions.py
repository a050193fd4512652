"""What each command on a track makes happen."""

from __future__ import annotations

from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.rules import Decision
from holdfast.loop.rules.acceptance import finish_tasks, task_done
from holdfast.loop.rules.checkpoint import (
    counted,
    current_step,
    status_of,
    waiting_for,
)
from holdfast.loop.rules.model import (
    BLOCKED,
    BRAINSTORM,
    COMPLETE,
    COUNTERS,
    EXECUTE,
    FAILED,
    FIX,
    IN_PROGRESS,
    NOT_STARTED,
    PASSED,
    PLAN,
    PROGRESS_NUMBERS,
)
from holdfast.loop.rules.start import cycles_of, limit_of, over_the_limit, start
from holdfast.loop.rules.transitions import following_step, refuse_illegal, way_on
from holdfast.loop.rules.updates import (
    Pen,
    body_of,
    files_of,
    note_of,
    one_line,
    refuse_too_many,
    step_of,
    trimmed,
    whole_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.loop.rules.model import LoopState


def decide(state: LoopState, command: Any, now: int) -> Decision:
    """`open`, `start`, `progress`, `task_done`, `pass`, `fail`, `block`, `advance`, `attempt`,
    `escalate`; the command says which in `do`."""
    deciders: dict[str, Callable[[LoopState, Any, int], Decision]] = {
        "open": _open,
        "start": start,
        "progress": _progress,
        "task_done": task_done,
        "pass": _pass,
        "fail": _fail,
        "block": _block,
        "advance": _advance,
        "attempt": _attempt,
        "escalate": _escalate,
    }
    if command.get("do") not in deciders:
        raise Usage(f"A track cannot {command.get('do')!r}.")
    return deciders[command["do"]](state, command, now)


def _open(state: LoopState, command: Any, now: int) -> Decision:
    """Begin to look after a track whose file is there, without changing what it says."""
    if state["opened"]:
        return Decision()
    return Decision([("opened", {"folder": command["folder"]})])


def _progress(state: LoopState, command: Any, now: int) -> Decision:
    step = step_of(state, command)
    refuse_illegal(step, status_of(state, step), IN_PROGRESS)
    if status_of(state, step) == NOT_STARTED:
        raise Conflict(
            f"{step} is {NOT_STARTED}: there is no progress before a start.",
            hint=way_on(step),
            kind="illegal_transition",
        )
    pen, fields = Pen(state, step, now), command.get("fields") or {}
    for done, total in (("tasks_completed", "tasks_total"), ("issues_fixed", "issues_total")):
        values = [
            counted(pen.checkpoint, name) if fields.get(name) is None else whole_of(fields, name)
            for name in (done, total)
        ]
        if values[0] is not None and values[1] is not None:
            refuse_too_many(done, values[0], values[1])
    for name in (*PROGRESS_NUMBERS[:2], "current_task"):
        if fields.get(name) is not None:
            pen.progress(
                name, one_line(fields[name]) if name == "current_task" else whole_of(fields, name)
            )
    for name in COUNTERS:
        if fields.get(name) is not None:
            pen.count(name, whole_of(fields, name) or 0)
    if fields.get("current_issue") is not None:
        pen.set("current_issue", one_line(fields["current_issue"]))
    pen.add("output_files", files_of(command))
    if command.get("notes"):
        pen.set("notes", trimmed(command["notes"]))
    return Decision([("progressed", body_of(pen, command))])


def _pass(state: LoopState, command: Any, now: int) -> Decision:
    step = step_of(state, command)
    refuse_illegal(step, status_of(state, step), PASSED)
    pen = Pen(state, step, now)
    notes, files = trimmed(command.get("notes") or ""), files_of(command)
    if step in (PLAN, BRAINSTORM) and not (files or pen.checkpoint.get("output_files")):
        raise Usage(
            f"{step} passes with the files that it wrote, and none is named.",
            hint=f"holdfast loop pass --output {state['folder']}/plan.md",
        )
    if step in (PLAN, FIX) and not (notes or pen.checkpoint.get("notes")):
        raise Usage(
            f"{step} passes with a summary of what was done, and there is none.",
            hint='holdfast loop pass --notes "what was done"',
        )
    if step == EXECUTE:
        finish_tasks(pen, command.get("done_tasks") or [])
    pen.add("output_files", files)
    pen.end(PASSED, notes)
    return Decision([("passed", body_of(pen, command, notes=notes))])


def _fail(state: LoopState, command: Any, now: int) -> Decision:
    return _end_badly(state, command, now, FAILED)


def _block(state: LoopState, command: Any, now: int) -> Decision:
    return _end_badly(state, command, now, BLOCKED)


def _end_badly(state: LoopState, command: Any, now: int, status: str) -> Decision:
    step, reason = step_of(state, command), trimmed(command.get("reason") or "")
    if not reason:
        raise Usage(f"{status} needs a reason.", hint=f'holdfast loop {command["do"]} "why"')
    refuse_illegal(step, status_of(state, step), status)
    pen = Pen(state, step, now)
    pen.add("output_files", files_of(command))
    pen.end(status, note_of(status, reason))
    facts: dict[str, Any] = {"notes": note_of(status, reason)}
    if status == BLOCKED:
        facts["blocker"] = pen.block(reason)
    return Decision([(status.lower(), body_of(pen, command, **facts))])


def _advance(state: LoopState, command: Any, now: int) -> Decision:
    """To the next step by the table. It enters as NOT_STARTED; nothing is run."""
    step = current_step(state)
    status = PASSED if step == COMPLETE else status_of(state, step)
    waiting = waiting_for(state)
    if waiting is not None:
        if state["escalated"] == waiting:
            return Decision()
        return Decision([("escalated", {**waiting, "changes": []})])
    if status == BLOCKED:
        following = step
    else:
        following = following_step(state, business_sync=bool(command.get("business_sync")))
    if following == FIX and cycles_of(state) >= limit_of(state):
        return over_the_limit(state, now)
    pen = Pen(state, following, now)
    pen.loop("current_step", following)
    pen.loop("step_started_at", None)
    if following == COMPLETE:
        pen.loop("step_status", PASSED)
        pen.root("status", "complete")
        pen.root("completed_at", pen.now)
    else:
        pen.loop("step_status", NOT_STARTED)
        pen.set("status", NOT_STARTED)
        if pen.checkpoint.get("completed_at") is not None:
            pen.set("completed_at", None)
    body = {"from": step, "step": following, "changes": pen.changes()}
    return Decision([("advanced", body)])


def _attempt(state: LoopState, command: Any, now: int) -> Decision:
    """The orchestrator starts a program: written down before it runs."""
    step, task = step_of(state, command), one_line(command.get("task") or "")
    pen = Pen(state, step, now)
    if task:
        pen.progress("current_task", task)
    number = state["attempts"] + 1
    facts = {"number": number, "task": task, "log": command["log"], "program": command["program"]}
    return Decision([("attempt_begun", body_of(pen, command, **facts))])


def _escalate(state: LoopState, command: Any, now: int) -> Decision:
    body = {"step": step_of(state, command), "reason": trimmed(command["reason"]), "changes": []}
    return Decision([("escalated", body)])
