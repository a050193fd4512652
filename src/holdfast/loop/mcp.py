"""The tool `step`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from holdfast.kernel.inbox import QUEUED
from holdfast.loop import commands
from holdfast.loop.commands import StartRequest
from holdfast.loop.rules import orchestrator
from holdfast.loop.rules.checkpoint import current_step, step_named
from holdfast.loop.rules.model import PROGRESS, LoopState
from holdfast.loop.track import Track, TrackResult, chosen, find_next_task
from holdfast.mcp.call import ToolAnswer, ToolCall, require, tool

Do = Literal["show", "start", "progress", "task_done", "pass", "fail", "block", "advance"]


def step(
    call: ToolCall,
    do: Do,
    track: Annotated[str | None, Field(description="Track id, if there are several.")] = None,
    step: Annotated[
        str | None, Field(description="PLAN, EXECUTE, ...; default: the current.")
    ] = None,
    task: Annotated[str | None, Field(description="task_done: task id.")] = None,
    commit: Annotated[str | None, Field(description="task_done: its commit.")] = None,
    message: Annotated[str | None, Field(description="task_done")] = None,
    next: Annotated[str | None, Field(description="task_done: the next task.")] = None,
    progress: Annotated[
        dict[str, int | str] | None, Field(description=f"progress: {', '.join(PROGRESS)}.")
    ] = None,
    notes: Annotated[str | None, Field(description="progress, pass: a summary.")] = None,
    outputs: Annotated[
        list[str] | None, Field(description="progress, pass: files written.")
    ] = None,
    reason: Annotated[str | None, Field(description="fail, block: why.")] = None,
) -> ToolAnswer:
    """Take a track's steps (conductor/tracks: plan, execute, evaluate, fix). A finished task never runs
    again; after a crash, show names the next one."""
    place = chosen(call.workspace, track, None, None)
    meant = Track(call.workspace, call.writer, place, actor=call.actor, now=call.now)
    name = step_named(step) if step else ""
    if do == "show":
        call.refuse_stopped()
        state = meant.read()
        return _standing(meant, state, name or current_step(state), {}, [])
    if do == "start":
        result = commands.start(meant, StartRequest(step=require(name, "step")))
    elif do == "advance":
        result = commands.advance(meant)
    elif do == "task_done":
        facts = {"commit": commit, "message": message, "next": next}
        result = commands.complete_task(meant, require(task, "task"), name, **facts)
    elif do == "progress":
        result = commands.report_progress(
            meant, name, fields=progress or {}, outputs=outputs or (), notes=notes
        )
    elif do == "pass":
        result = commands.pass_step(
            meant, name, outputs=outputs or (), notes=notes, folder=call.folder
        )
    else:
        result = commands.stop_step(meant, do, require(reason, "reason"), name)
    return _done(meant, result, name)


def _done(track: Track, done: TrackResult, name: str) -> ToolAnswer:
    warnings = [f"warning: {one}" for one in done.warnings]
    if done.outcome["queued"]:
        data = {"track": track.place.track, "queued": done.outcome["queued"]}
        return ToolAnswer([QUEUED, *warnings], data)
    state = done.state
    again = done.outcome["duplicate"] or not done.outcome["records"]
    more = {"version": done.outcome["version"], "duplicate": again, "queued": ""}
    lines = ["Nothing changed: that was known already."] if again else []
    return _standing(track, state, name or current_step(state), more, [*lines, *warnings])


def _standing(
    track: Track, state: LoopState, step: str, more: dict[str, Any], lines: list[str]
) -> ToolAnswer:
    """Where the track stands: its step, its next open task, or why it waits for a person."""
    where = find_next_task(track, state)
    known = commands.summarize(state, step)
    data = {**known, "next_task": where["task"], "open_tasks": where["open"], **more}
    data["next_step"] = where["step"]
    said = [*lines, f"{track.place.track}: {known['step']} is {known['status']}."]
    if known["current_step"] != known["step"]:
        said.append(f"The current step is {known['current_step']}.")
    elif where["step"] != known["step"]:
        said.append(f"Next step: {where['step']}.")
    if where["task"]:
        title = f" {where['title']}" if where["title"] else ""
        said.append(
            f"Next task: {where['task']}{title} ({where['open']} of {where['tasks']} open)."
        )
    pause = orchestrator.pause_of(state)
    if pause is not None:
        text = orchestrator.escalation_text(state, pause["step"], pause["reason"])
        return ToolAnswer([*said, *text], {**data, "reason": pause["reason"], "escalation": text})
    return ToolAnswer(said, data)


TOOLS = [tool(step)]
