"""holdfast loop start, progress, task-done, pass, fail, block, advance: report on a step of a track."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import TEXT_OR_EMPTY, together, verb
from holdfast.cli.terminal import one_line, safe, style
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import plural, quote
from holdfast.loop.commands import (
    StartRequest,
    advance,
    complete_task,
    find_persons_part,
    pass_step,
    report_progress,
    start,
    stop_step,
    summarize,
)
from holdfast.loop.rules import orchestrator
from holdfast.loop.rules.checkpoint import (
    checkpoint_of,
    count_done,
    current_step,
    said,
    status_of,
    step_named,
)
from holdfast.loop.rules.model import (
    BLOCKED,
    COMPLETE,
    FAILED,
    IN_PROGRESS,
    METADATA,
    PASSED,
    PROGRESS,
    TRACKS,
    LoopState,
)
from holdfast.loop.track import Track, TrackResult, chosen, list_tracks
from holdfast.people.person import require

if TYPE_CHECKING:
    from holdfast.cli.frame import Parsed


WAITING = 8
track_options = together(
    click.option(
        "--track",
        "--track-id",
        "track",
        metavar="ID",
        help="Id of the track. Optional if the repository has only one.",
    ),
    click.option("--track-dir", metavar="DIR", help="Folder of the track."),
    click.option("--metadata", metavar="FILE", help=f"Path of the track's {METADATA}."),
)
COLOURS = {PASSED: "green", FAILED: "red", BLOCKED: "yellow", IN_PROGRESS: "cyan"}


def track_verb(function: Callable[..., Reply]) -> Callable[..., Parsed]:
    """Make a verb of a function with a call and a track, with the options that name the track."""

    @functools.wraps(function)
    def on_the_track(
        call: Call,
        track: str | None,
        track_dir: str | None,
        metadata: str | None,
        named: str | None = None,
        **arguments: Any,
    ) -> Reply:
        if named and track and named != track:
            raise Usage(f"Which track: {named} or {track}?", hint="Name it once.")
        track = named or track
        place = chosen(call.workspace, track, track_dir, metadata)
        meant = Track(call.workspace, call.writer, place, actor=call.actor, now=call.now)
        try:
            return function(call, meant, **arguments)
        except HoldfastError as error:
            error.hint = _for_this_track(error.hint, meant)
            raise

    made: Callable[..., Parsed] = track_options(verb(on_the_track))
    return made


def _for_this_track(hint: str, track: Track) -> str:
    """A command in a hint names its track where another could be meant."""
    place = track.place
    if "--track" in hint or list_tracks(track.workspace) == [place.track]:
        return hint
    option = f"--track {quote(place.track)}"
    if place.folder != f"{TRACKS}/{place.track}":
        option = f"--track-dir {quote(place.folder)}"
    return re.sub(r"(holdfast loop [a-z-]+)", lambda match: f"{match[1]} {option}", hint)


# For the verbs whose only argument is the track.
track_argument = click.argument("named", required=False, metavar="[TRACK]")
step_option = click.option(
    "--step", metavar="STEP", default="", help="Step to report on.  [default: the current step]"
)
outputs_option = click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="File that the step wrote; repeatable.",
)


progress_options = together(
    *(
        click.option(f"--{name.replace('_', '-')}", type=int, metavar="N", help=meaning)
        if kind is int
        else click.option(
            f"--{name.replace('_', '-')}", type=TEXT_OR_EMPTY, metavar="TEXT", help=meaning
        )
        for name, (kind, meaning) in PROGRESS.items()
    )
)


def status(name: str) -> str:
    return style(safe(name), COLOURS.get(name))


def reply(
    track: Track, done: TrackResult, step: str = "", *, again: str = "", may_pause: bool = False
) -> Reply:
    """What a command did to a step, as data and in a line or two."""
    warn(*done.warnings)
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
    if may_pause and orchestrator.pause_of(state):
        return reply_paused(state, data)
    return Reply(data, lines, next=[f"holdfast loop resume --track {quote(track.place.track)}"])


def reply_paused(state: LoopState, data: dict[str, Any]) -> Reply:
    """The orchestrator's pause, in the protocol's words."""
    pause = orchestrator.pause_of(state) or {"step": current_step(state), "reason": ""}
    text = orchestrator.escalation_text(state, pause["step"], pause["reason"])
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
        count, all = count_done(checkpoint, done), count_done(checkpoint, total)
        if count is not None or all is not None:
            parts.append(
                plural(count or 0, noun) if all is None else f"{count or 0} of {plural(all, noun)}"
            )
    if said(checkpoint, "last_task"):
        parts.append(f"last {one_line(said(checkpoint, 'last_task'), 30)}")
    return parts


@click.command()
@click.argument("step")
@click.option("--tasks-total", type=int, metavar="N", help="Number of tasks of EXECUTE.")
@click.option("--issues-total", type=int, metavar="N", help="Number of issues of FIX.")
@click.option(
    "--agent",
    metavar="NAME",
    help="Agent that works on the step.  [default: the step's superpower]",
)
@click.option(
    "--resume-from", metavar="TASK", help="Last completed task. A warning follows if it differs."
)
@click.option("--max-fix-cycles", type=int, metavar="N", help="Allow N fix cycles.")
@click.option("--reset", is_flag=True, help="Run completed tasks again.")
@click.option("--resolve", is_flag=True, help="Resolve the blockers of the other steps, too.")
@track_verb
def start_command(call: Call, track: Track, step: str, **options: Any) -> Reply:
    """Start STEP, or continue it where it was left.

    STEP is a key (PLAN, EXECUTE, FIX, ...) or the name of a superpower (superpowers:executing-plans).
    You can start any step at any time. EXECUTE keeps its completed tasks. A start resolves the step's
    own blockers; that, and more fix cycles, takes a person at a terminal. A track that does not exist is
    created.
    """
    name = step_named(step)
    request = StartRequest(step=name, **options)
    wanted = find_persons_part(track, request)
    if wanted:
        person = require(call.workspace, f"start {name}", wanted, now=call.now)
        request = replace(request, person=person)
    result = start(track, request)
    queued = bool(result.outcome["queued"])
    blocked = not queued and status_of(result.state, name) == BLOCKED
    return reply(track, result, name, may_pause=blocked)


@click.command()
@step_option
@progress_options
@outputs_option
@click.option("--notes", metavar="TEXT", help="Short summary.")
@track_verb
def progress_command(
    call: Call,
    track: Track,
    step: str,
    outputs: tuple[str, ...],
    notes: str | None,
    **fields: int | str | None,
) -> Reply:
    """Report how far the current step is. PLAN reports every five minutes."""
    given = {name: value for name, value in fields.items() if value is not None}
    result = report_progress(track, step, fields=given, outputs=outputs, notes=notes)
    return reply(track, result, step)


@click.command("task-done")
@click.argument("task")
@step_option
@click.option("--commit", metavar="SHA", help="Commit that contains the task.")
@click.option("--message", metavar="TEXT", help="Message of the commit, or how an issue was fixed.")
@click.option("--next", metavar="TASK", help="Task that follows.")
@track_verb
def task_done_command(call: Call, track: Track, **given: Any) -> Reply:
    """Report that TASK is done. It never runs again. In FIX, TASK is an issue.

    A second report of the same task changes nothing, and the reply says so.
    """
    again = f"{safe(given['task'])} was reported before; nothing changed."
    return reply(track, complete_task(track, **given), given["step"], again=again)


@click.command("pass")
@step_option
@outputs_option
@click.option("--notes", metavar="TEXT", help="Short summary. Required for PLAN and FIX.")
@track_verb
def pass_command(call: Call, track: Track, **given: Any) -> Reply:
    """Report that the current step passed. EXECUTE passes only when no task is open."""
    return reply(track, pass_step(track, **given, folder=call.folder), given["step"])


def _stop_command(word: Literal["fail", "block"], help: str) -> click.Command:
    """Make the command that ends a step for a reason. A track's name in the place of a reason is refused."""

    @click.command(help=help)
    @click.argument("reason", type=TEXT_OR_EMPTY)
    @step_option
    @track_verb
    def command(call: Call, track: Track, reason: str, step: str) -> Reply:
        if reason in (track.place.track, *list_tracks(track.workspace)):
            raise Usage(
                f"{reason} is a track, and no reason.",
                hint=f"holdfast loop {word} REASON --track {quote(reason)}",
            )
        return reply(track, stop_step(track, word, reason, step), step)

    return command


fail_command = _stop_command(
    "fail", "Report that the current step failed. Its notes become `ERROR: REASON`."
)
block_command = _stop_command(
    "block",
    """Report that the current step cannot continue.

    Its notes become `BLOCKED: REASON`, and the file gets a blocker that a person resolves.
    """,
)


@click.command()
@click.option(
    "--business-sync", is_flag=True, help="Go to BUSINESS_SYNC after the last evaluation."
)
@track_verb
def advance_command(call: Call, track: Track, business_sync: bool) -> Reply:
    """Go to the next step by the protocol's table. The step becomes NOT_STARTED; nothing runs.

    Exits with 8, and prints a text for a person, while a blocker is active or when all fix cycles are
    used.
    """
    return reply(track, advance(track, business_sync=business_sync), may_pause=True)
