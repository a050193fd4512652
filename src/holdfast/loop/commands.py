"""The operations on a track, one for each verb. The command line, MCP and the library call them.

A track is the context of an operation. While a stop holds, nothing new begins; a report about work that
was done is recorded first, and then the stop is the answer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.text import quote
from holdfast.loop.history import Attempt, find_attempts, line, read_records
from holdfast.loop.rules.checkpoint import (
    active_blockers,
    checkpoint_of,
    checkpoints_of,
    count_done,
    current_step,
    is_due,
    loop_of,
    problems,
    status_of,
    step_named,
    upcoming_step,
)
from holdfast.loop.rules.decisions import cycles_of, limit_of, list_persons_part
from holdfast.loop.rules.model import (
    COMPLETE,
    EXECUTE,
    FIX,
    IN_PROGRESS,
    METADATA,
    PASSED,
    PROGRESS,
    RUNNABLE,
    LoopState,
)
from holdfast.loop.rules.orchestrator import command_of
from holdfast.loop.rules.tasks import TrackTask, count_tasks, same_task
from holdfast.loop.track import NextTask, Track, TrackResult, find_next_task

_SAVED = "What you said is saved."


@dataclass(frozen=True, kw_only=True)
class StartRequest:
    """The step to begin, as a key or as a superpower's name. `tasks` are those of EXECUTE; by default
    those of plan.md. `resume_from` is only compared with the last completed task. `person` resolves blockers,
    and allows more fix cycles."""

    step: str
    tasks: Sequence[TrackTask] | None = None
    tasks_total: int | None = None
    issues_total: int | None = None
    agent: str | None = None
    resume_from: str | None = None
    max_fix_cycles: int | None = None
    reset: bool = False
    resolve: bool = False
    person: Person | None = None


def start(track: Track, request: StartRequest) -> TrackResult:
    """Begin a step, or continue it where it was left. A track that does not exist is created."""
    refuse_stopped(track.workspace)
    step = step_named(request.step)
    result = track.execute(build_start(track, request))
    if step == EXECUTE and request.tasks is None:
        result.warnings += [
            f"plan.md, line {one['line']} is not read as a task: {one['text'][:80]}"
            for one in track.unread()
        ]
    if not result.outcome["queued"]:
        result.warnings += _doubts(checkpoint_of(result.state, step), step, request.resume_from)
    return result


def find_persons_part(track: Track, request: StartRequest) -> list[str]:
    """Return what only a person may do of a start, in words."""
    return list_persons_part(read_state(track), build_start(track, request))


def build_start(track: Track, request: StartRequest) -> dict[str, Any]:
    """The command of a start: EXECUTE with the tasks that are done, FIX with the open issues."""
    step = step_named(request.step)
    command: dict[str, Any] = {"do": "start", "step": step}
    given: dict[str, Any] = {
        "tasks_total": request.tasks_total,
        "issues_total": request.issues_total,
        "agent": request.agent,
        "max_fix_cycles": request.max_fix_cycles,
        "reset": request.reset or None,
        "resolve": request.resolve or None,
        "by": request.person,
    }
    if step == EXECUTE:
        tasks = track.plan() if request.tasks is None else request.tasks
        if tasks or request.tasks is not None:
            known = {} if request.reset else checkpoint_of(read_state(track), step)
            done, total = count_tasks(tasks, known)
            given["done_tasks"] = done or None
            if request.tasks_total is None:
                given["tasks_total"] = total
    if step == FIX and request.issues_total is None:
        given["issues_total"] = track.issues() or None
    return command | {name: value for name, value in given.items() if value is not None}


def report_progress(
    track: Track,
    step: str = "",
    *,
    fields: Mapping[str, int | str],
    outputs: Sequence[str] = (),
    notes: str | None = None,
) -> TrackResult:
    """Record how far a step is. An empty `step` is the current one, here and in the other operations."""
    if not fields and not outputs and not notes:
        raise Usage(
            "There is no progress in that.",
            hint=f"Give notes, output files, or one of {', '.join(PROGRESS)}.",
        )
    for name, value in fields.items():
        if name not in PROGRESS:
            raise Usage(f"There is no progress {name!r:.40}.", hint=", ".join(PROGRESS))
        if isinstance(value, bool) or not isinstance(value, PROGRESS[name][0]):
            kind = "a whole number" if PROGRESS[name][0] is int else "text"
            raise Usage(f"{name} must be {kind}.")
    said = {"fields": dict(fields), "output_files": list(outputs), "notes": notes}
    return _report(track, "progress", step, **said)


def complete_task(
    track: Track,
    task: str,
    step: str = "",
    *,
    commit: str | None = None,
    message: str | None = None,
    next: str | None = None,
) -> TrackResult:
    """Record that a task of EXECUTE, or an issue of FIX, is done: it never runs again. `next` is the task that follows.
    A task that was reported before changes nothing."""
    return _report(track, "task_done", step, task=task, commit=commit, message=message, next=next)


def pass_step(
    track: Track,
    step: str = "",
    *,
    tasks: Sequence[TrackTask] | None = None,
    outputs: Sequence[str] = (),
    notes: str | None = None,
    folder: str = "",
) -> TrackResult:
    """Record that a step passed, and the files that it wrote, relative to `folder` or to the worktree. For EXECUTE, the
    ticked boxes of the plan count as done."""
    state, more = track.read(), {}
    if (_named(step) or current_step(state)) == EXECUTE:
        tasks = track.plan() if tasks is None else tasks
        more["done_tasks"] = count_tasks(tasks, checkpoint_of(state, EXECUTE))[0]
    folders = (folder or track.workspace.root, track.workspace.root)
    missing = [
        f"There is no file {path}; its name is recorded."
        for path in outputs
        if not any(os.path.exists(os.path.join(folder, path)) for folder in folders)
    ]
    result = _report(track, "pass", step, output_files=list(outputs), notes=notes, **more)
    result.warnings += missing
    return result


def stop_step(
    track: Track, do: Literal["fail", "block"], reason: str, step: str = ""
) -> TrackResult:
    """Record that a step failed, `ERROR: REASON` in its notes, or that it cannot continue: `BLOCKED: REASON`, and a
    blocker that a person resolves."""
    return _report(track, do, step, reason=reason)


def advance(track: Track, *, business_sync: bool = False) -> TrackResult:
    """Go to the next step by the protocol's table, after the last evaluation perhaps to BUSINESS_SYNC. The step does
    not start."""
    refuse_stopped(track.workspace)
    return track.execute({"do": "advance", "business_sync": business_sync})


def summarize(state: LoopState, step: str) -> dict[str, Any]:
    """Where a track is, and one of its steps."""
    return {
        "track": state["track"],
        "metadata": f"{state['folder']}/{METADATA}",
        "current_step": current_step(state),
        "step": step,
        "status": PASSED if step == COMPLETE else status_of(state, step),
        "checkpoint": dict(checkpoint_of(state, step)),
    }


class TrackReport(TypedDict):
    """A track for its readers. `due`: PLAN should say how far it is. `history` has all events, the oldest
    first."""

    track: str
    metadata: str
    loop_state: dict[str, Any]
    blockers: list[Any]
    problems: dict[str, list[str]]
    due: bool
    attempts: list[Attempt]
    history: list[dict[str, Any]]


def describe(track: Track, state: LoopState, now: int) -> TrackReport:
    """What a track is at, what is wrong with its file, and what happened."""
    found = {step: list(problems(each)) for step, each in checkpoints_of(state).items()}
    records = read_records(track)
    return {
        "track": state["track"],
        "metadata": f"{state['folder']}/{METADATA}",
        "loop_state": dict(loop_of(state)),
        "blockers": active_blockers(state),
        "problems": {step: each for step, each in found.items() if each},
        "due": is_due(state, now),
        "attempts": find_attempts(records),
        "history": [line(record) for record in records],
    }


class WayOn(NextTask):
    """Where a track continues, and how: `command` runs the step, `leads` are the commands of holdfast that
    lead to it. `is_used_up`: the step is a fix, and no fix cycle is left."""

    command: list[str]
    leads: list[str]
    is_used_up: bool


def find_way_on(track: Track, state: LoopState) -> WayOn:
    """What to run next: the superpower of the step, or the command that starts it or ends the track. A step
    that runs and has no superpower needs none."""
    current, found = current_step(state), find_next_task(track, state)
    step, which = found["step"], f"--track {quote(track.place.track)}"
    leads = [f"holdfast loop advance {which}"] if step != current else []
    leads += [f"holdfast loop start {step} {which}"] if step in RUNNABLE else []
    is_used_up = upcoming_step(state) == FIX != current and cycles_of(state) >= limit_of(state)
    command = command_of(state, step, _context_files(track))
    is_running = step == current and status_of(state, step) == IN_PROGRESS
    if is_used_up:
        command = leads[0].split()
    elif not command and not is_running and current != COMPLETE and leads:
        command = leads[-1].split()
    return {**found, "command": command, "leads": leads, "is_used_up": is_used_up}


def _context_files(track: Track) -> list[str]:
    """The project's files that a superpower reads first."""
    try:
        names = sorted(os.listdir(os.path.join(track.workspace.root, "conductor")))
    except OSError:
        return []
    return [f"conductor/{name}" for name in names if name.endswith(".md")]


def _named(step: str) -> str:
    return step_named(step) if step else ""


def _report(track: Track, do: str, step: str, **said: Any) -> TrackResult:
    result = track.execute({"do": do, "step": _named(step), **said})
    refuse_stopped(track.workspace, _SAVED)
    return result


def read_state(track: Track) -> LoopState:
    """The track's state; a track that does not exist has its first one."""
    try:
        return track.read()
    except NotFound:
        return track.recorded()


def _doubts(checkpoint: Mapping[str, Any], step: str, resume_from: str | None) -> list[str]:
    found = []
    last = str(checkpoint.get("last_task") or "")
    if resume_from and not same_task(resume_from, last):
        found.append(
            f"--resume-from {resume_from}: the last task that is done is {last or 'none'}."
        )
    for key, field in ((EXECUTE, "tasks_total"), (FIX, "issues_total")):
        if step == key and count_done(checkpoint, field) is None:
            option = field.replace("_", "-")
            found.append(f"How many? Say --{option} N, so that progress means something.")
    return found
