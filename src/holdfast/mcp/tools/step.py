"""The tool `step`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from holdfast.kernel.errors import Usage
from holdfast.loop import commands
from holdfast.loop.location import chosen
from holdfast.loop.rules import escalation
from holdfast.loop.rules.checkpoint import current_step
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.track import Track, following
from holdfast.mcp.call import Answer, Call, needed

if TYPE_CHECKING:
    from holdfast.loop.rules.model import LoopState
    from holdfast.loop.track import Done

Do = Literal["show", "start", "progress", "task_done", "pass", "fail", "block", "advance"]
WHOLE = (
    *("current_phase", "total_phases", "tasks_completed", "tasks_total"),
    *("issues_fixed", "issues_total"),
)
TEXTS = ("current_task", "current_issue")
# What begins something new; the rest tells what has happened, and is kept under a stop, too.
BEGINNINGS = ("start", "advance")


def step(
    call: Call,
    do: Annotated[Do, Field(description="show: where the track stands.")],
    track: Annotated[str | None, Field(description="Needed if there are several.")] = None,
    step: Annotated[str | None, Field(description="PLAN, EXECUTE, ...; else the current.")] = None,
    task: Annotated[str | None, Field(description="task_done: which.")] = None,
    commit: Annotated[str | None, Field(description="task_done: its commit.")] = None,
    message: Annotated[str | None, Field(description="task_done")] = None,
    next: Annotated[str | None, Field(description="task_done: what follows.")] = None,
    progress: Annotated[
        dict[str, int | str] | None,
        Field(description=f"progress: {', '.join((*WHOLE, *TEXTS))}."),
    ] = None,
    notes: Annotated[str | None, Field(description="progress, pass: a summary.")] = None,
    outputs: Annotated[
        list[str] | None, Field(description="progress, pass: files written.")
    ] = None,
    reason: Annotated[str | None, Field(description="fail, block: why.")] = None,
) -> Answer:
    """A track's step machine (conductor/tracks: plan, execute, evaluate, fix). A task that is done never
    runs again; after a crash, show names the next one."""
    if do in BEGINNINGS:
        call.refuse_stopped()
    place = chosen(call.workspace, track, None, None)
    meant = Track(call.workspace, call.writer, place, actor=call.actor)
    if do == "show":
        state = meant.read()
        return _standing(meant, state, step_named(step) if step else current_step(state), {}, [])
    name = step_named(step) if step else ""
    if do == "start":
        done = commands.start(meant, needed(name, "step"), now=call.now)
    elif do == "pass":
        done = commands.passed(
            meant, name, outputs=outputs or [], notes=notes, folder=call.folder, now=call.now
        )
    else:
        done = meant.execute(
            _order(do, name, task, commit, message, next, progress, notes, outputs, reason),
            now=call.now,
        )
    if do not in BEGINNINGS:
        call.refuse_stopped("What you said is saved.")
    return _done(meant, done, name)


def _order(
    do: str,
    name: str,
    task: str | None,
    commit: str | None,
    message: str | None,
    next: str | None,
    progress: dict[str, int | str] | None,
    notes: str | None,
    outputs: list[str] | None,
    reason: str | None,
) -> dict[str, Any]:
    order: dict[str, Any] = {"do": do, "step": name}
    if do == "task_done":
        words = {"commit": commit, "message": message, "next": next}
        return {**order, "task": needed(task, "task"), **words}
    if do == "progress":
        if not progress and not outputs and not notes:
            raise Usage("There is no progress in that.", hint="Give progress, outputs or notes.")
        fields = _checked(progress or {})
        return {**order, "fields": fields, "output_files": list(outputs or []), "notes": notes}
    if do in ("fail", "block"):
        return {**order, "reason": needed(reason, "reason")}
    return order if do != "advance" else {"do": do, "business_sync": False}


def _checked(fields: dict[str, int | str]) -> dict[str, int | str]:
    for name, value in fields.items():
        wanted = int if name in WHOLE else str if name in TEXTS else None
        if wanted is None:
            raise Usage(
                f"There is no progress {name!r:.40}.", hint=f"{', '.join((*WHOLE, *TEXTS))}"
            )
        if not isinstance(value, wanted):
            raise Usage(f"{name} must be {'a whole number' if wanted is int else 'text'}.")
    return fields


def _done(track: Track, done: Done, name: str) -> Answer:
    warnings = [f"warning: {one}" for one in done.warnings]
    if done.outcome["queued"]:
        line = "Queued in .holdfast/inbox: the journal cannot be written from here."
        data = {"track": track.place.track, "queued": done.outcome["queued"]}
        return Answer([line, *warnings], data)
    state = done.state
    again = done.outcome["duplicate"] or not done.outcome["records"]
    more = {"version": done.outcome["version"], "duplicate": again, "queued": ""}
    lines = ["Nothing changed: that was known already."] if again else []
    return _standing(track, state, name or current_step(state), more, [*lines, *warnings])


def _standing(
    track: Track, state: LoopState, step: str, more: dict[str, Any], lines: list[str]
) -> Answer:
    """Where the track stands: its step, its next open task, or why it waits for a person."""
    where = following(track, state)
    known = commands.summary(state, step)
    data = {**known, "next_task": where["task"], "open_tasks": where["open"], **more}
    said = [*lines, f"{track.place.track}: {known['step']} is {known['status']}."]
    if known["current_step"] != known["step"]:
        said.append(f"The current step is {known['current_step']}.")
    if where["task"]:
        title = f" {where['title']}" if where["title"] else ""
        said.append(
            f"Next task: {where['task']}{title} ({where['open']} of {where['tasks']} open)."
        )
    pause = escalation.pause_of(state)
    if pause is not None:
        text = escalation.text(state, pause["step"], pause["reason"])
        return Answer([*said, *text], {**data, "reason": pause["reason"], "escalation": text})
    return Answer(said, data)
