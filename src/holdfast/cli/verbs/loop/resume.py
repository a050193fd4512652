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
from holdfast.loop.rules.model import COMPLETE, EXECUTE, FIX, IN_PROGRESS, RUNNABLE
from holdfast.loop.rules.parameters import command_of, resume_from
from holdfast.loop.rules.start import cycles_of, limit_of
from holdfast.loop.rules.transitions import upcoming_step
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
        "next_step": place["step"],
        "next_task": place["task"],
        "open_tasks": place["open"],
        "resume_from": resume_from(state) if place["step"] == EXECUTE else "",
        "command": _command(call, track, state, place["step"]),
        "due": is_due(state, call.now),
    }
    if escalation.pause_of(state):
        return paused(state, data)
    rows = [["Step", line(state, step)]]
    if place["step"] != step:
        used = (
            f", when you allow more than {limit_of(state)} fix cycles" if _is_used_up(state) else ""
        )
        rows.append(["Next", f"{place['step']}{used}"])
    if place["task"]:
        title = f"  {one_line(place['title'], 50)}" if place["title"] else ""
        open_ones = style(f"  ({plural(place['open'], 'open task')})", dim=True)
        rows.append(["Task", f"{safe(place['task'])}{title}{open_ones}"])
    if data["command"]:
        rows.append(["Run", safe(shlex.join(data["command"]))])
    if data["due"]:
        rows.append(["Due", "PLAN should say how far it is: holdfast loop progress"])
    return Reply(data, list(table(rows)), next=_next(track, state, place["step"]))


def _command(call: Call, track: Track, state: LoopState, step: str) -> list[str]:
    """What runs a step: its superpower, or the command that starts it or ends the track. A step that runs
    and has no superpower needs none."""
    folder = os.path.join(call.workspace.root, "conductor")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    context = [f"conductor/{name}" for name in names if name.endswith(".md")]
    command = command_of(state, step, context)
    is_running = step == current_step(state) and status_of(state, step) == IN_PROGRESS
    leads = _next(track, state, step)
    if _is_used_up(state):
        return leads[0].split()
    if command or is_running or current_step(state) == COMPLETE:
        return command
    return leads[-1].split() if leads else []


def _is_used_up(state: LoopState) -> bool:
    """Whether the next step is a fix, and no fix cycle is left."""
    return upcoming_step(state) == FIX != current_step(state) and cycles_of(state) >= limit_of(
        state
    )


def _next(track: Track, state: LoopState, step: str) -> list[str]:
    """The commands of holdfast that lead to a step."""
    which = f"--track {track.place.track}"
    advance = [f"holdfast loop advance {which}"] if step != current_step(state) else []
    return advance + ([f"holdfast loop start {step} {which}"] if step in RUNNABLE else [])
