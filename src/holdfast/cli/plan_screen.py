"""A run on a screen: its waves, plans and tasks, and what waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.terminal import bar, cut, one_line, safe, style, table, unstyle
from holdfast.kernel import clock
from holdfast.kernel.text import width
from holdfast.plans import runs
from holdfast.plans.rules.drawing import MARKS, state_of
from holdfast.plans.rules.ready import numbered_waves, waiting_gates, wave_at
from holdfast.plans.rules.run_model import (
    ALERT_WAITS,
    ASKED,
    EDITED,
    FAILED,
    OVER,
    REFUSED,
    RUNNING,
    STOPPED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holdfast.plans.rules.run_model import PlanRun, RunState

COLOURS = {"done": "green", "failed": "red", "waiting": "yellow", "running": "cyan"}
BAR = 10
SPACES = "  "


def screen(
    state: RunState,
    *,
    now: int,
    columns: int = 0,
    height: int = 0,
    cost: str = "",
    last_line: Callable[[str], str] = lambda token: "",
    recent: list[str] | None = None,
    lack: str = "",
    hint: str = "",
) -> list[str]:
    """The whole picture. Without columns nothing is cut; a low screen shows the waves at hand."""
    head = [_head(state, now, cost, waits=bool(hint), columns=columns), ""]
    waits = list(waiting_lines(state, hint))
    tail = [*([""] if waits else []), *waits]
    tail += ["", style(one_line(lack, 300), "yellow")] if lack else []
    tail += ["", *(style(line, dim=True) for line in recent)] if recent else []
    room = height - len(head) - len(tail) - 1 if height else 0
    body = list(_waves(state, now, last_line, only_here=False))
    if room and len(body) > room:
        body = list(_waves(state, now, last_line, only_here=True))
        if len(body) > room > 0:
            body = [
                *body[: room - 1],
                style(f"  … and {len(body) - room + 1} more lines", dim=True),
            ]
    return [cut(line, columns) for line in [*head, *body, *tail]]


def _head(state: RunState, now: int, cost: str, *, waits: bool = False, columns: int = 0) -> str:
    """One line. A narrow screen goes without the phase and the bar; how far the run is, it always shows."""
    count = runs.count(state)
    phase, wave = wave_at(state)
    run = f"{style('Run', bold=True)} {state['id']}"
    status = style("waits", "yellow") if waits else status_word(state)
    at = f"phase {safe(phase)}{f', wave {wave}' if wave else ''}"
    here = [at] if phase and state["status"] not in OVER else []
    done = f"{count['done']}/{count['total']}"
    full = f"{bar(count['done'], count['total'], BAR)} {done}"
    span = _span(state["begun_at"], state["ended_at"] or clock.precise(now))
    rest = [span, cost] if cost else [span]
    for parts in (
        [run, status, *here, full, *rest],
        [run, status, full, *rest],
        [run, status, done],
    ):
        line = SPACES.join(parts)
        if not columns or width(unstyle(line)) <= columns:
            return line
    return SPACES.join([done, run, status])


def status_word(state: RunState) -> str:
    if state["status"] == "paused" and state["pause"] is not None:
        return style(safe(state["pause"]["reason"]).replace("_", " "), "yellow")
    colour = {"done": "green", "running": "cyan"}.get(state["status"])
    return style(state["status"], colour)


def _waves(
    state: RunState, now: int, last_line: Callable[[str], str], *, only_here: bool
) -> Iterator[str]:
    here, at = wave_at(state)
    rows: list[list[str]] = []
    for phase in state["phases"]:
        if only_here and here and phase["phase"] != here:
            continue
        for number, wave in numbered_waves(state, phase):
            if only_here and at and number != at:
                continue
            for position, id in enumerate(wave):
                plan = state["plans"][id]
                where = f"{safe(phase['phase'])} · wave {number}" if position == 0 else ""
                rows.append([style(where, dim=True), *_plan_row(plan, now, last_line)])
    yield from table(rows, indent=SPACES)


def _plan_row(plan: PlanRun, now: int, last_line: Callable[[str], str]) -> list[str]:
    mark, colour = look(plan)
    count = runs.count_of(plan)
    return [
        style(mark, colour),
        safe(plan["plan"]["plan"]),
        f"{bar(count['done'], count['total'], BAR)} {count['done']}/{count['total']}",
        _doing(plan, now, last_line),
    ]


def look(plan: PlanRun) -> tuple[str, str | None]:
    """The sign of a plan's state, which is that of `plan graph`, and its colour."""
    state = state_of(plan)
    return MARKS[state], COLOURS.get(state)


def _doing(plan: PlanRun, now: int, last_line: Callable[[str], str]) -> str:
    """What a plan is at: its running task, or why it stands still."""
    titles = {task["key"]: task["name"] for task in plan["plan"]["tasks"]}
    for key, task in plan["tasks"].items():
        if task["status"] == RUNNING:
            since = _span(task["began_at"], clock.precise(now))
            again = style(f"try {task['tries'] + 1}", "yellow") if task["tries"] else ""
            said = style(one_line(last_line(task["mark"]), 60), dim=True)
            on = f"on {one_line(task['on'], 40)}" if task.get("on") else ""
            parts = [f"#{key} {one_line(titles[key], 40)}", on, since, again, said]
            return SPACES.join(part for part in parts if part)
        if task["status"] == FAILED:
            return style(f"#{key} {one_line(titles[key], 40)}: {one_line(task['why'], 80)}", "red")
    for gate in plan["gates"].values():
        if gate["status"] == ASKED:
            return style(f"waits for a person: {gate['gate']}", "yellow")
        if gate["status"] == REFUSED:
            return style(f"issues: {one_line(gate['text'], 80)}", "red")
    return ""


def waiting_lines(state: RunState, hint: str = "") -> Iterator[str]:
    """What waits for a person, and the command with which they answer."""
    asked = waiting_gates(state)
    if not asked and not hint:
        return
    yield style("Waits for you", bold=True)
    for id, key in asked:
        plan = state["plans"][id]
        gate = plan["gates"][key]
        content = next(one["gate"] for one in plan["plan"]["tasks"] if one["key"] == key)
        title = one_line(content["title"], 60) if content else ""
        yield f"  {safe(id)}  {title}"
        yield style(f"    holdfast gate answer {gate['gate']}", dim=True)
    if hint:
        yield style(f"  {hint}", "yellow")


def summary(state: RunState, alerts: Sequence[str] = ()) -> list[str]:
    """How a run stands, in a few lines, after its last screen."""
    now = clock.now()
    lines = [_head(state, now, "")]
    pause = state["pause"]
    if pause is not None:
        lines += ["", f"{style('Stands still:', 'yellow')} {one_line(pause['text'], 300)}"]
        lines += list(waiting_lines(state))
        if pause["waypoint"]:
            lines.append(f"Waypoint saved: {safe(pause['waypoint'])}")
        ways = ways_on(state, alerts)
        lines.append(style(f"Go on with: {ways[0]}", dim=True))
        lines += [style(f"            {way}", dim=True) for way in ways[1:]]
    return lines


def ways_on(state: RunState, alerts: Sequence[str] = ()) -> list[str]:
    """What to type, in this order, so that a run that stands still goes on. `alerts` are the types of
    those that wait."""
    again, pause = runs.resume_command(state), state["pause"]
    reason = pause["reason"] if pause is not None else ""
    if pause is not None and reason == ALERT_WAITS:
        alerts = alerts or pause["text"].split(", ")
    if reason == EDITED:
        return [f"{again} --edited old", f"{again} --edited new"]
    if reason == STOPPED:
        return ["holdfast status", again]
    gates = [state["plans"][id]["gates"][key]["gate"] for id, key in waiting_gates(state)]
    acknowledged = [f"holdfast guard ack {safe(type)}" for type in alerts]
    return [*acknowledged, *(f"holdfast gate answer {gate}" for gate in gates), again]


def _span(since: str, until: str) -> str:
    """`2:13`, or `1:02:13`; nothing when it has not begun."""
    if not since:
        return ""
    seconds = max(0, clock.parse(until) - clock.parse(since)) // 1000
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
