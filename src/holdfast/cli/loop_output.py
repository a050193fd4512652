"""What the verbs of `holdfast loop` share: the track that is meant, and the reply about it."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import one_line, plural, safe, style
from holdfast.kernel.errors import HoldfastError
from holdfast.loop.commands import summarize
from holdfast.loop.location import chosen, listing
from holdfast.loop.rules import escalation
from holdfast.loop.rules.checkpoint import checkpoint_of, counted, current_step, said, status_of
from holdfast.loop.rules.model import (
    BLOCKED,
    COMPLETE,
    FAILED,
    IN_PROGRESS,
    METADATA,
    PASSED,
    TRACKS,
)
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.track import Track

if TYPE_CHECKING:
    from holdfast.cli.frame import Call, Parsed
    from holdfast.loop.rules.model import LoopState
    from holdfast.loop.track import TrackResult

WAITING = 8
COLOURS = {PASSED: "green", FAILED: "red", BLOCKED: "yellow", IN_PROGRESS: "cyan"}


def track_verb(function: Callable[..., Reply]) -> Callable[..., Parsed]:
    """Make a verb of a function with a call and a track, with the options that name the track."""

    @functools.wraps(function)
    def on_the_track(
        call: Call,
        track: str | None,
        track_dir: str | None,
        metadata: str | None,
        **arguments: Any,
    ) -> Reply:
        place = chosen(call.workspace, track, track_dir, metadata)
        meant = Track(call.workspace, call.writer, place, actor=call.actor, now=call.now)
        try:
            return function(call, meant, **arguments)
        except HoldfastError as error:
            error.hint = _for_this_track(error.hint, meant)
            raise

    made = verb(on_the_track)
    for option in (
        click.option("--metadata", metavar="FILE", help=f"Path of the track's {METADATA}."),
        click.option("--track-dir", metavar="DIR", help="Folder of the track."),
        click.option(
            *("--track", "--track-id", "track"),
            metavar="ID",
            help="Id of the track. Optional if the repository has only one.",
        ),
    ):
        made = option(made)
    return made


def _for_this_track(hint: str, track: Track) -> str:
    """A command in a hint names its track where another could be meant."""
    place = track.place
    if "--track" in hint or listing(track.workspace) == [place.track]:
        return hint
    option = f"--track {place.track}"
    if place.folder != f"{TRACKS}/{place.track}":
        option = f"--track-dir {shlex.quote(place.folder)}"
    return re.sub(r"(holdfast loop [a-z-]+)", rf"\1 {option}", hint)


step_option = click.option(
    "--step", metavar="STEP", default="", help="Step to report on. Default: the current step."
)
outputs_option = click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="File that the step wrote. Repeatable.",
)


def status(name: str) -> str:
    return style(safe(name), COLOURS.get(name))


def reply(
    track: Track, done: TrackResult, step: str = "", *, again: str = "", may_pause: bool = False
) -> Reply:
    """What a command did to a step, as data and in a line or two."""
    for warning in done.warnings:
        warn(warning)
    for broken in done.broken:
        warn(f"Broke the lock of {broken['holder']}, {broken['age_seconds']} s old.")
    outcome = done.outcome
    if outcome["queued"]:
        lines = [
            "Queued in .holdfast/inbox: the journal cannot be written from here. The next process",
            f"that can takes it in; until then {METADATA} does not show it.",
        ]
        return Reply({"track": track.place.track, "queued": outcome["queued"]}, lines)
    state = done.state
    step = step_named(step) if step else current_step(state)
    data = {
        **summarize(state, step),
        "version": outcome["version"],
        "id": outcome["id"],
        "records": [record["id"] for record in outcome["records"]],
        "duplicate": outcome["duplicate"] or not outcome["records"],
        "views": outcome["views"],
        "broken_locks": done.broken,
        "queued": "",
    }
    lines = [again] if again and not outcome["records"] else [line(state, step)]
    if may_pause and escalation.pause_of(state):
        return paused(state, data)
    return Reply(data, lines, next=[f"holdfast loop resume --track {track.place.track}"])


def paused(state: LoopState, data: dict[str, Any]) -> Reply:
    """The orchestrator's pause, in the protocol's words."""
    pause = escalation.pause_of(state) or {"step": current_step(state), "reason": ""}
    text = escalation.text(state, pause["step"], pause["reason"])
    data = {**data, "reason": pause["reason"], "escalation": text}
    return Reply(data, escalation_lines(text), exit_code=WAITING)


def escalation_lines(text: list[str]) -> list[str]:
    return [style(text[0], "yellow", bold=True), *(safe(each) for each in text[1:])]


def line(state: LoopState, step: str) -> str:
    """`EXECUTE is IN_PROGRESS, 2 of 35 tasks, last 1.2`"""
    if step == COMPLETE:
        return f"{state['track']} is {style('complete', 'green')}"
    checkpoint = checkpoint_of(state, step)
    parts = [f"{step} is {status(status_of(state, step))}", *amounts(checkpoint)]
    notes = said(checkpoint, "notes")
    if notes and status_of(state, step) in (PASSED, FAILED, BLOCKED):
        parts.append(one_line(notes))
    return ", ".join(parts)


def amounts(checkpoint: Any) -> list[str]:
    """How much of a step is done, in words."""
    parts = []
    for done, total, noun in (
        ("tasks_completed", "tasks_total", "task"),
        ("issues_fixed", "issues_total", "issue"),
    ):
        count, all = counted(checkpoint, done), counted(checkpoint, total)
        if count is not None or all is not None:
            parts.append(
                plural(count or 0, noun) if all is None else f"{count or 0} of {plural(all, noun)}"
            )
    if said(checkpoint, "last_task"):
        parts.append(f"last {one_line(said(checkpoint, 'last_task'), 30)}")
    return parts
