"""holdfast loop resume"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import line, paused, track_verb
from holdfast.cli.terminal import one_line, plural, safe, style, table
from holdfast.loop.commands import summarize
from holdfast.loop.rules import escalation
from holdfast.loop.rules.checkpoint import current_step, is_due, status_of
from holdfast.loop.rules.model import EVALUATIONS, EXECUTE, FAILED, PASSED, RUNNABLE, SKIPPED
from holdfast.loop.rules.parameters import command_of, resume_from
from holdfast.loop.track import find_next_task

if TYPE_CHECKING:
    from holdfast.loop.rules.model import LoopState
    from holdfast.loop.track import Track


@click.command()
@track_verb
def command(call: Call, track: Track) -> Reply:
    """Print what to run next: the step, its next open task, and the complete command.

    Changes nothing. Exits with 8 while the track waits for a person.
    """
    state = track.read()
    step = current_step(state)
    place = find_next_task(track, state)
    data: dict[str, Any] = {
        **summarize(state, step),
        "next_task": place["task"],
        "open_tasks": place["open"],
        "resume_from": resume_from(state) if step == EXECUTE else "",
        "command": _ready(call, state, step),
        "due": is_due(state, call.now),
    }
    if escalation.pause_of(state):
        return paused(state, data)
    rows = [["Step", line(state, step)]]
    if place["task"]:
        title = f"  {one_line(place['title'], 50)}" if place["title"] else ""
        open_ones = style(f"  ({plural(place['open'], 'open task')})", dim=True)
        rows.append(["Task", f"{safe(place['task'])}{title}{open_ones}"])
    if data["command"]:
        rows.append(["Run", safe(shlex.join(data["command"]))])
    if data["due"]:
        rows.append(["Due", "PLAN should say how far it is: holdfast loop progress"])
    return Reply(data, list(table(rows)), next=_next(track, state, step))


def _ready(call: Call, state: LoopState, step: str) -> list[str]:
    folder = os.path.join(call.workspace.root, "conductor")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    return command_of(state, step, [f"conductor/{name}" for name in names if name.endswith(".md")])


def _next(track: Track, state: LoopState, step: str) -> list[str]:
    which = f"--track {track.place.track}"
    status = status_of(state, step)
    if step not in RUNNABLE:
        return []
    if status in (PASSED, SKIPPED) or (status == FAILED and step in EVALUATIONS):
        return [f"holdfast loop advance {which}"]
    return [f"holdfast loop start {step} {which}"]
