"""holdfast loop show, resume, run: where a track is, what comes next, and a run to its end."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from holdfast.cli.frame import INTERRUPTED, Call, Reply, warn
from holdfast.cli.run_watch import RunWatch
from holdfast.cli.terminal import ago, bar, cut, echo, one_line, safe, style, table, terminal_size
from holdfast.kernel.clock import instant_of
from holdfast.kernel.durations import describe_span
from holdfast.kernel.text import plural, quote
from holdfast.loop import run_file
from holdfast.loop.cli import (
    COLOURS,
    WAITING,
    amounts,
    escalation_lines,
    line,
    reply_paused,
    status,
    track_argument,
    track_verb,
)
from holdfast.loop.commands import TrackReport, describe, find_way_on, summarize
from holdfast.loop.history import read_log
from holdfast.loop.rules import orchestrator
from holdfast.loop.rules.checkpoint import (
    checkpoint_of,
    count_done,
    current_step,
    is_due,
    list_steps,
    loop_of,
    said,
    status_of,
)
from holdfast.loop.rules.decisions import limit_of
from holdfast.loop.rules.model import (
    COMPLETE,
    EXECUTE,
    FAILED,
    IN_PROGRESS,
    NOT_STARTED,
    PASSED,
    RUNNABLE,
    LoopState,
)
from holdfast.loop.rules.orchestrator import resume_from
from holdfast.loop.rules.tasks import remaining
from holdfast.loop.runner import LoopEvent, Run
from holdfast.loop.track import Track

LATEST = 12
BAR = 20
WIDE = 100
_SIGNS = {PASSED: "✓", FAILED: "✗", IN_PROGRESS: "▸", "BLOCKED": "■", NOT_STARTED: "·"}


@click.command()
@track_argument
@click.option(
    "--history", is_flag=True, help="Print every event of every attempt, the oldest first."
)
@click.option(
    "--log", is_flag=True, help="Print the output of an attempt.  [default: the last attempt]"
)
@click.option(
    "--attempt", type=int, metavar="N", help="Number of the attempt whose output to print."
)
@track_verb
def show_command(call: Call, track: Track, history: bool, log: bool, attempt: int | None) -> Reply:
    """Show the steps of TRACK, their progress, and what ran before."""
    if log or attempt is not None:
        return _log(track, attempt)
    state = track.read()
    found = describe(track, state, call.now)
    happened = found["history"]
    data = {**found, "history": happened if history else happened[-LATEST:]}
    if history:
        return Reply(data, _timeline(happened, call.now), pages=True)
    return Reply(data, _lines(state, found, call.now), pages=True)


def _log(track: Track, number: int | None) -> Reply:
    found, text = read_log(track, number)
    head = f"attempt {found['number']}  {found['step']} {found['task']}  {found['log']}"
    lines = [style(safe(head), "yellow"), *safe(text).splitlines()]
    return Reply({**found, "output": text}, lines, pages=True)


def _lines(state: LoopState, data: TrackReport, now: int) -> Iterator[str]:
    loop, step, width = loop_of(state), current_step(state), terminal_size()[0]
    cycles = f"{loop.get('fix_cycle_count', 0)} of {loop.get('max_fix_cycles', 3)} fix cycles"
    title = style(safe(state["track"]), bold=True)
    yield cut(title + style(f"  {cycles}  {data['metadata']}", dim=True), width)
    yield ""
    yield from _step_lines(state, list_steps(state), now, width)
    if step == COMPLETE:
        yield f"  {style('✓ complete', 'green', bold=True)}"
    for blocker in data["blockers"]:
        yield ""
        what = one_line(str(blocker.get("description") or ""))
        where = safe(str(blocker.get("blocked_step") or ""))
        yield cut(style("Blocked", "yellow", bold=True) + f"  {where}: {what}", width)
    if data["problems"]:
        yield ""
        yield style("The file has", "yellow", bold=True)
        found = [[each, safe("; ".join(what))] for each, what in data["problems"].items()]
        yield from (cut(line, width) for line in table(found, indent="  "))
    if data["due"]:
        yield ""
        yield "PLAN should say how far it is: holdfast loop progress"
    if data["history"]:
        yield ""
        yield style("Latest", bold=True)
        yield from (cut(line, width) for line in _timeline(data["history"][-LATEST:], now))


def _step_lines(state: LoopState, steps: Sequence[str], now: int, width: int) -> Iterator[str]:
    """One line for each step; in a narrow terminal its details have a line of their own."""
    rows = [_row(state, step, now) for step in steps]
    if not width or width >= WIDE:
        details = [_detail(state, step, BAR) for step in steps]
        lines = table([[*row, one] for row, one in zip(rows, details, strict=True)], indent="  ")
    else:
        heads, details = table(rows, indent="  "), [_detail(state, step, 0) for step in steps]
        lines = (line for pair in zip(heads, details, strict=True) for line in pair if line.strip())
        lines = (line if line.startswith("  ") else f"    {line}" for line in lines)
    yield from (cut(line, width) for line in lines)


def _row(state: LoopState, step: str, now: int) -> list[str]:
    checkpoint = checkpoint_of(state, step)
    at = status_of(state, step)
    is_current = step == current_step(state)
    sign = style(_SIGNS.get(at, "?"), {PASSED: "green", FAILED: "red"}.get(at, "cyan"))
    name = style(safe(step), bold=True) if is_current else safe(step)
    return [f"{sign} {name}", status(at), _time(checkpoint, now)]


def _time(checkpoint: Any, now: int) -> str:
    """How long it took, or since when it runs."""
    begun = instant_of(checkpoint.get("started_at"))
    ended = instant_of(checkpoint.get("completed_at"))
    if begun is None:
        return ""
    if ended is not None:
        return describe_span(ended - begun)
    is_running = checkpoint.get("status") == IN_PROGRESS
    return f"{describe_span(now - begun)} so far" if is_running else ""


def _detail(state: LoopState, step: str, size: int) -> str:
    checkpoint, at = checkpoint_of(state, step), status_of(state, step)
    parts = []
    done, total = count_done(checkpoint, "tasks_completed"), count_done(checkpoint, "tasks_total")
    if total and size:
        parts.append(bar(done or 0, total, BAR, "green"))
    parts += amounts(checkpoint)
    task = said(checkpoint, "current_task")
    if task and at == IN_PROGRESS:
        parts.append(f"now {one_line(task, 30)}")
    notes = said(checkpoint, "notes")
    if notes:
        parts.append(style(one_line(notes, 60), dim=at == PASSED))
    return "  ".join(parts)


def _timeline(happened: Sequence[dict[str, Any]], now: int) -> Iterator[str]:
    yield from table([_event_row(event, now) for event in happened], indent="  ")


def _event_row(event: dict[str, Any], now: int) -> list[str]:
    step = safe(str(event.get("step") or ""))
    return [style(ago(event["at"], now), dim=True), step, *_describe_event(event)]


def _describe_event(event: dict[str, Any]) -> list[str]:
    """What happened, and the detail that makes it this and not another."""
    kind = event["event"]
    notes = one_line(str(event.get("notes") or ""), 60)
    if kind == "started":
        return [
            "continued" if event.get("again") else "started",
            safe(str(event.get("agent") or "")),
        ]
    if kind == "task_done":
        commit = safe(str(event.get("commit") or "")[:12])
        return [style("task done", "green"), " ".join([one_line(str(event["task"]), 40), commit])]
    if kind in ("passed", "failed", "blocked"):
        return [style(kind, COLOURS[kind.upper()]), notes]
    if kind == "advanced":
        return ["advanced", f"from {safe(str(event.get('from')))}"]
    if kind == "attempt_begun":
        what = f"{event.get('number')}  {event.get('task') or ''}"
        return ["attempt", one_line(what, 60)]
    if kind == "escalated":
        return [style("paused", "yellow"), one_line(str(event.get("reason") or ""), 60)]
    if kind == "edited_outside":
        changed = [place.rpartition("checkpoints/")[2] for place in event.get("changed", [])]
        return ["edited outside", one_line(", ".join(changed), 60)]
    return [safe(kind.replace("_", " ")), notes]


@click.command()
@track_argument
@track_verb
def resume_command(call: Call, track: Track) -> Reply:
    """Print what to run next: the step, its next open task, and the complete command.

    Changes nothing. Exits with 8 while the track waits for a person.
    """
    state = track.read()
    step = current_step(state)
    way = find_way_on(track, state)
    data: dict[str, Any] = {
        **summarize(state, step),
        "next_step": way["step"],
        "next_task": way["task"],
        "open_tasks": way["open"],
        "resume_from": resume_from(state) if way["step"] == EXECUTE else "",
        "command": way["command"],
        "due": is_due(state, call.now),
    }
    if orchestrator.pause_of(state):
        return reply_paused(state, data)
    rows = [["Step", line(state, step)]]
    if way["step"] != step:
        limit = f", when you allow more than {limit_of(state)} fix cycles"
        rows.append(["Next", f"{way['step']}{limit if way['is_used_up'] else ''}"])
    if way["task"]:
        title = f"  {one_line(way['title'], 50)}" if way["title"] else ""
        open_ones = style(f"  ({plural(way['open'], 'open task')})", dim=True)
        rows.append(["Task", f"{safe(way['task'])}{title}{open_ones}"])
    if way["command"]:
        rows.append(["Run", safe(shlex.join(way["command"]))])
    if data["due"]:
        rows.append(["Due", "PLAN should say how far it is: holdfast loop progress"])
    return Reply(data, list(table(rows)), next=way["leads"])


@click.command()
@track_argument
@click.option(
    "--with",
    "file",
    required=True,
    metavar="FILE",
    help="TOML file that names the program of each step.",
)
@click.option("--dry-run", is_flag=True, help="Print what would run; run nothing.")
@track_verb
def run_command(call: Call, track: Track, file: str, dry_run: bool) -> Reply:
    """Run a track to its end. Holdfast runs the program of each step, records its result and goes to
    the next step. Exit codes of a program: 0 passed, 1 failed, 2 missing parameter, 3 file not found,
    4 blocked.

    After an interrupt or a kill, the same command continues at the next open task. Exits with 8, and
    prints a text for a person, when it cannot continue.
    """
    plan = run_file.read(file)
    if dry_run:
        return _reply_dry_run(track, plan)
    watch = LoopWatch(as_json=call.as_json)
    for sign in (signal.SIGTERM, signal.SIGHUP):
        # As Ctrl+C does: the program of a run must not outlive it, unseen.
        signal.signal(sign, signal.default_int_handler)
    work = Run(track, plan, watch)
    try:
        result = work.to_the_end()
    except KeyboardInterrupt:
        warn("Interrupted. The track stays where it is; the same command continues there.")
        return Reply({**work.interrupted()}, exit_code=INTERRUPTED)
    data: dict[str, Any] = {**result}
    which = f"--track {quote(track.place.track)}"
    if result["ended"] == "paused":
        return Reply(data, escalation_lines(result["escalation"]), exit_code=WAITING)
    done = style("complete", "green", bold=True)
    programs = plural(result["attempts"], "program")
    said = f"{safe(result['track'])} is {done}: {plural(result['rounds'], 'step')}, {programs} run."
    return Reply(data, [said], next=[f"holdfast loop show {which}"])


class LoopWatch(RunWatch):
    """A loop's run, a line for each event."""

    def __call__(self, event: LoopEvent) -> None:
        with self._although_unread():
            if self._as_json:
                self._print_json(event)
            else:
                self._tell(event)
                sys.stderr.flush()

    def _tell(self, event: LoopEvent) -> None:
        step, text = event["step"], one_line(event["text"])
        if event["event"] == "step":
            echo(f"{self._clock()} {style(step, bold=True)}  {text}".rstrip(), error=True)
        elif event["event"] == "attempt" and event["task"]:
            count = f"{event['done'] + 1}/{event['total']}"
            echo(f"{self._clock()}   {count}  {safe(event['task'])}  {text}".rstrip(), error=True)
        elif event["event"] == "ended":
            echo(f"{self._clock()} {step} is {status(event['text'])}", error=True)
        elif event["event"] in ("warning", "leftover"):
            warn(event["text"] if event["event"] == "warning" else f"A run was killed: {text}.")


def _reply_dry_run(track: Track, plan: run_file.RunPlan) -> Reply:
    """What a run would begin with, and the program of each step."""
    state = track.read()
    step = current_step(state)
    tasks = plan.choose_tasks(track.plan())
    left = remaining(tasks, checkpoint_of(state, EXECUTE))
    plan.refuse_unfit(track.workspace.root, step, plan.business_sync)
    task = left[0] if left else None
    commands = {
        one: plan.fill_command(state, one, task) for one in RUNNABLE if plan.find_program(one)
    }
    open_ids = [one["id"] for one in left]
    rows = [[one, safe(shlex.join(words))] for one, words in commands.items()]
    lines = [
        f"Would begin at {step}, which is {status_of(state, step)}.",
        *table(rows, indent="  "),
        f"Open tasks: {safe(', '.join(open_ids)) or 'none'}",
    ]
    data = {"track": track.place.track, "step": step, "commands": commands, "open_tasks": open_ids}
    return Reply({**data, "dry_run": True}, lines)
