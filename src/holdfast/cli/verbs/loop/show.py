"""holdfast loop show"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import amounts, status, track_verb
from holdfast.cli.roster_screen import cut, terminal_width
from holdfast.cli.terminal import ago, one_line, safe, style, table, unstyle, wide
from holdfast.loop.history import attempts, events, read_log
from holdfast.loop.rules.checkpoint import (
    active_blockers,
    checkpoint_of,
    checkpoints_of,
    counted,
    current_step,
    instant_of,
    is_due,
    loop_of,
    problems,
    said,
    status_of,
)
from holdfast.loop.rules.model import (
    COMPLETE,
    FAILED,
    IN_PROGRESS,
    METADATA,
    NOT_STARTED,
    PASSED,
    STEPS,
)

if TYPE_CHECKING:
    from holdfast.loop.rules.model import LoopState
    from holdfast.loop.track import Track

LATEST = 12
BAR = 20
_SIGNS = {PASSED: "✓", FAILED: "✗", IN_PROGRESS: "▸", "BLOCKED": "■", NOT_STARTED: "·"}


@click.command()
@click.option(
    "--history", is_flag=True, help="Print every event of every attempt, the oldest first."
)
@click.option(
    "--log", is_flag=True, help="Print the output of an attempt. Default: the last attempt."
)
@click.option(
    "--attempt", type=int, metavar="N", help="Number of the attempt whose output to print."
)
@track_verb
def command(
    call: Call,
    track: Track,
    history: bool,
    log: bool,
    attempt: int | None,
) -> Reply:
    """Show the steps of a track, their progress, and what ran before."""
    if log or attempt is not None:
        return _log(track, attempt)
    state = track.read()
    happened = events(track)
    data: dict[str, Any] = {
        "track": state["track"],
        "metadata": f"{state['folder']}/{METADATA}",
        "loop_state": dict(loop_of(state)),
        "blockers": active_blockers(state),
        "problems": _problems(state),
        "due": is_due(state, call.now),
        "attempts": [dict(one) for one in attempts(track)],
        "history": happened if history else happened[-LATEST:],
    }
    if history:
        return Reply(data, _timeline(happened, call.now), pages=True)
    return Reply(data, _lines(state, happened, data, call.now), pages=True)


def _log(track: Track, number: int | None) -> Reply:
    found, text = read_log(track, number)
    head = f"attempt {found['number']}  {found['step']} {found['task']}  {found['log']}"
    lines = [style(safe(head), "yellow"), *safe(text).splitlines()]
    return Reply({**found, "output": text}, lines, pages=True)


def _problems(state: LoopState) -> dict[str, list[str]]:
    found = {step: list(problems(each)) for step, each in checkpoints_of(state).items()}
    return {step: each for step, each in found.items() if each}


def _lines(
    state: LoopState, happened: list[dict[str, Any]], data: dict[str, Any], now: int
) -> Iterator[str]:
    loop, step, width = loop_of(state), current_step(state), terminal_width()
    cycles = f"{loop.get('fix_cycle_count', 0)} of {loop.get('max_fix_cycles', 3)} fix cycles"
    title = style(safe(state["track"]), bold=True)
    yield cut(title + style(f"  {cycles}  {data['metadata']}", dim=True), width)
    yield ""
    yield from _step_lines(state, _steps(state, step), now, width)
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
    if happened:
        yield ""
        yield style("Latest", bold=True)
        yield from (cut(line, width) for line in _timeline(happened[-LATEST:], now))


def _steps(state: LoopState, current: str) -> list[str]:
    """The steps that a track has been at or will come to; the optional ones where they are used."""
    known = checkpoints_of(state)
    usual = ("PLAN", "EVALUATE_PLAN", "EXECUTE", "EVALUATE_EXECUTION")
    shown = [step for step in STEPS[:-1] if step in known or step in usual or step == current]
    return shown + [step for step in known if step not in STEPS]


def _step_lines(state: LoopState, steps: Sequence[str], now: int, width: int) -> Iterator[str]:
    """One line for each step. In a narrow terminal the bar gives way, and then the details of a step have
    lines of their own."""
    for size in (BAR, 0):
        rows = [[*_row(state, step, now), _detail(state, step, size)] for step in steps]
        lines = list(table(rows, indent="  "))
        if not width or all(wide(line) <= width for line in lines):
            yield from lines
            return
    heads = table([_row(state, step, now) for step in steps], indent="  ")
    for head, step in zip(heads, steps, strict=True):
        yield cut(head, width)
        yield from wrap(
            unstyle(_detail(state, step, 0)),
            width,
            initial_indent=" " * 4,
            subsequent_indent=" " * 4,
        )


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
    if ended is None:
        return f"{span(now - begun)} so far" if checkpoint.get("status") == IN_PROGRESS else ""
    return span(ended - begun)


def span(milliseconds: int) -> str:
    """`1 h 04 min`, `3 min 20 s`, `12 s`."""
    seconds = max(milliseconds // 1000, 0)
    if seconds >= 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
    return f"{seconds // 60} min {seconds % 60:02d} s" if seconds >= 60 else f"{seconds} s"


def _detail(state: LoopState, step: str, size: int) -> str:
    checkpoint, at = checkpoint_of(state, step), status_of(state, step)
    parts = []
    done, total = counted(checkpoint, "tasks_completed"), counted(checkpoint, "tasks_total")
    if total and size:
        parts.append(bar(done or 0, total))
    parts += amounts(checkpoint)
    task = said(checkpoint, "current_task")
    if task and at == IN_PROGRESS:
        parts.append(f"now {one_line(task, 30)}")
    notes = said(checkpoint, "notes")
    if notes:
        parts.append(style(one_line(notes, 60), dim=at == PASSED))
    return "  ".join(parts)


def bar(done: int, total: int) -> str:
    filled = min(BAR * done // total, BAR) if total else 0
    return style("█" * filled, "green") + style("░" * (BAR - filled), dim=True)


# Events


def _timeline(happened: Sequence[dict[str, Any]], now: int) -> Iterator[str]:
    yield from table([_event_row(event, now) for event in happened], indent="  ")


def _event_row(event: dict[str, Any], now: int) -> list[str]:
    step = safe(str(event.get("step") or ""))
    return [
        style(ago(event["at"], now), dim=True),
        step,
        *_said(event),
    ]


def _said(event: dict[str, Any]) -> list[str]:
    """What happened, and the detail that makes it this and not another."""
    kind = event["event"]
    notes = one_line(str(event.get("notes") or ""), 60)
    if kind == "started":
        return ["went on" if event.get("again") else "started", safe(str(event.get("agent") or ""))]
    if kind == "task_done":
        commit = safe(str(event.get("commit") or "")[:12])
        return [style("task done", "green"), " ".join([one_line(str(event["task"]), 40), commit])]
    if kind == "passed":
        return [style("passed", "green"), notes]
    if kind == "failed":
        return [style("failed", "red"), notes]
    if kind == "blocked":
        return [style("blocked", "yellow"), notes]
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
