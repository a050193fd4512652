"""A run in lines: its waves, plans and tasks, what waits for a person, and each of its events."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from holdfast.cli.run_watch import RunWatch
from holdfast.cli.terminal import bar, echo, one_line, safe, style, table
from holdfast.kernel import clock
from holdfast.kernel.durations import describe_span
from holdfast.kernel.text import quote, split_words
from holdfast.plans import runs
from holdfast.plans.news import RunEvent
from holdfast.plans.rules.graph import MARKS, find_state
from holdfast.plans.rules.ready import numbered_waves, waiting_gates, wave_at
from holdfast.plans.rules.run_model import ASKED, FAILED, OVER, REFUSED, RUNNING, PlanRun, RunState

COLOURS = {"done": "green", "failed": "red", "waiting": "yellow", "running": "cyan"}
BAR = 10
SPACES = "  "
# For programs: process ids and numbers of lives say nothing to a person.
UNSAID = ("life",)
QUIET = split_words(
    "ending edited failed paused unmet issues alert stop refused kept unwritten waiting"
)
EVENT_COLOURS = {
    **dict.fromkeys(("failed", "unmet", "issues", "stop", "kept"), "red"),
    **dict.fromkeys(("done", "closed", "end"), "green"),
    **dict.fromkeys(split_words("alert gate edited lost unwritten waiting paused"), "yellow"),
}


def screen(state: RunState, *, now: int) -> list[str]:
    """Return the whole picture."""
    waits = list(waiting_lines(state))
    return [_head(state, now), "", *_waves(state, now), *([""] if waits else []), *waits]


def _head(state: RunState, now: int) -> str:
    count = runs.count(state)
    phase, wave = wave_at(state)
    at = f"phase {safe(phase)}{f', wave {wave}' if wave else ''}"
    here = [at] if phase and state["status"] not in OVER else []
    done = f"{bar(count['done'], count['total'], BAR)} {count['done']}/{count['total']}"
    span = _span(state["begun_at"], state["ended_at"] or clock.precise(now))
    run = f"{style('Run', bold=True)} {state['id']}"
    return SPACES.join([run, status_word(state), *here, done, span])


def status_word(state: RunState) -> str:
    if state["status"] == "paused" and state["pause"] is not None:
        return style(safe(state["pause"]["reason"]).replace("_", " "), "yellow")
    colour = {"done": "green", "running": "cyan"}.get(state["status"])
    return style(state["status"], colour)


def _waves(state: RunState, now: int) -> Iterator[str]:
    rows: list[list[str]] = []
    for phase in state["phases"]:
        for number, wave in numbered_waves(state, phase):
            for position, id in enumerate(wave):
                plan = state["plans"][id]
                where = f"{safe(phase['phase'])} · wave {number}" if position == 0 else ""
                rows.append([style(where, dim=True), *_plan_row(plan, now)])
    yield from table(rows, indent=SPACES)


def _plan_row(plan: PlanRun, now: int) -> list[str]:
    state = find_state(plan)
    count = runs.count_of(plan)
    return [
        style(MARKS[state], COLOURS.get(state)),
        safe(plan["plan"]["plan"]),
        f"{bar(count['done'], count['total'], BAR)} {count['done']}/{count['total']}",
        _doing(plan, now),
    ]


def _doing(plan: PlanRun, now: int) -> str:
    """What a plan is at: its running task, or why it stands still."""
    titles = {task["key"]: task["name"] for task in plan["plan"]["tasks"]}
    for key, task in plan["tasks"].items():
        if task["status"] == RUNNING:
            since = _span(task["began_at"], clock.precise(now))
            again = style(f"try {task['tries'] + 1}", "yellow") if task["tries"] else ""
            on = f"on {one_line(task['on'], 40)}" if task.get("on") else ""
            parts = [f"#{key} {one_line(titles[key], 40)}", on, since, again]
            return SPACES.join(part for part in parts if part)
        if task["status"] == FAILED:
            return style(f"#{key} {one_line(titles[key], 40)}: {one_line(task['why'], 80)}", "red")
    for gate in plan["gates"].values():
        if gate["status"] == ASKED:
            return style(f"waits for a person: {gate['gate']}", "yellow")
        if gate["status"] == REFUSED:
            return style(f"issues: {one_line(gate['text'], 80)}", "red")
    return ""


def waiting_lines(state: RunState) -> Iterator[str]:
    """What waits for a person, and the command with which they answer."""
    asked = waiting_gates(state)
    if not asked:
        return
    yield style("Waits for you", bold=True)
    for id, key in asked:
        gate = state["plans"][id]["gates"][key]
        yield f"  {safe(id)}  {one_line(runs.title_of(state, id, key), 60)}"
        yield style(f"    holdfast gate answer {quote(gate['gate'])}", dim=True)


def summary(state: RunState, alerts: Sequence[str] = ()) -> list[str]:
    """How a run stands, in a few lines, at its end."""
    now = clock.now()
    lines = [_head(state, now)]
    pause = state["pause"]
    if pause is not None:
        lines += ["", f"{style('Stands still:', 'yellow')} {one_line(pause['text'], 300)}"]
        lines += list(waiting_lines(state))
        if pause["waypoint"]:
            lines.append(f"Waypoint saved: {safe(pause['waypoint'])}")
        ways = runs.find_ways_on(state, alerts)
        lines.append(style(f"Go on with: {ways[0]}", dim=True))
        lines += [style(f"            {way}", dim=True) for way in ways[1:]]
    return lines


def _span(since: str, until: str) -> str:
    return describe_span(clock.parse(until) - clock.parse(since)) if since else ""


def _line(event: RunEvent) -> str:
    """One event in words: what, of what, and what was said."""
    name = event["event"]
    if name in ("plan", "answered", "warning", "alert", "stop", "waypoint", "ending"):
        return safe(event["text"])
    if name == "waiting":
        return style(one_line(event["text"], 300), EVENT_COLOURS[name])
    if name == "goes_on":
        return "Nothing is lacking any more."
    what = f"{event['plan']}#{event['task']}" if event["task"] else event["plan"] or event["phase"]
    counted = f"{event['done']}/{event['total']}" if name in ("done", "start") else ""
    spent = f"{event['seconds']:.1f} s" if event["seconds"] is not None else ""
    word = style(name, EVENT_COLOURS.get(name), bold=name in ("closed", "end"))
    parts = [word, safe(what), counted, spent, one_line(event["text"], 160)]
    return "  ".join(part for part in parts if part)


class PlanWatch(RunWatch):
    """A plan's run, a line for each event."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        super().__init__(as_json=as_json, quiet=quiet)
        self._hint = ""

    def __call__(self, event: RunEvent) -> None:
        if event["event"] in UNSAID and not self._as_json:
            return
        self._hint = ""
        with self._although_unread():
            if self._as_json:
                self._print_json(event)
            elif not self._quiet or event["event"] in QUIET:
                self._print(_line(event))

    def waiting(self, hint: str) -> None:
        """Tell the person at this terminal, once, what the run waits for."""
        if hint != self._hint:
            self._hint = hint
            with self._although_unread():
                self._print(style(hint, "yellow"))

    def _print(self, text: str) -> None:
        echo(f"{self._clock()} {text}", error=True)
        sys.stderr.flush()
