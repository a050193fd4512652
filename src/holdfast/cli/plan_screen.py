"""A run on a screen: its waves, plans and tasks, what waits for a person, and how all that goes on live."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.budgets.rules.boxes import amount
from holdfast.cli.live_screen import LiveScreen, RunWatch
from holdfast.cli.terminal import (
    bar,
    cut,
    echo,
    one_line,
    safe,
    style,
    table,
    terminal_size,
    unstyle,
)
from holdfast.kernel import clock
from holdfast.kernel.text import quote, width
from holdfast.plans import runs
from holdfast.plans.rules.graph import MARKS, find_state
from holdfast.plans.rules.ready import numbered_waves, waiting_gates, wave_at
from holdfast.plans.rules.run_model import (
    ASKED,
    FAILED,
    OVER,
    REFUSED,
    RUNNING,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holdfast.plans.news import RunEvent
    from holdfast.plans.rules.run_model import PlanRun, RunState


COLOURS = {"done": "green", "failed": "red", "waiting": "yellow", "running": "cyan"}
BAR = 10
SPACES = "  "
RECENT = 5
# At most so often: drawing must not take time from what is drawn.
DRAW_SECONDS = 0.1
# For programs: process ids and numbers of lives say nothing to a person.
UNSAID = ("life",)
QUIET = (
    "ending",
    "edited",
    "failed",
    "paused",
    "unmet",
    "issues",
    "alert",
    "stop",
    "refused",
    "kept",
    "unwritten",
    "waiting",
)
EVENT_COLOURS = {
    "failed": "red",
    "unmet": "red",
    "issues": "red",
    "stop": "red",
    "alert": "yellow",
    "gate": "yellow",
    "edited": "yellow",
    "lost": "yellow",
    "kept": "red",
    "unwritten": "yellow",
    "waiting": "yellow",
    "paused": "yellow",
    "done": "green",
    "closed": "green",
    "end": "green",
}


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
    state = find_state(plan)
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
        yield style(f"    holdfast gate answer {quote(gate['gate'])}", dim=True)
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
        ways = runs.find_ways_on(state, alerts)
        lines.append(style(f"Go on with: {ways[0]}", dim=True))
        lines += [style(f"            {way}", dim=True) for way in ways[1:]]
    return lines


def _span(since: str, until: str) -> str:
    """`2:13`, or `1:02:13`; nothing when it has not begun."""
    if not since:
        return ""
    seconds = max(0, clock.parse(until) - clock.parse(since)) // 1000
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class PlanWatch(RunWatch):
    """A plan's run, on a screen of its own where there is a terminal."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        super().__init__(as_json=as_json, quiet=quiet)
        self._screen = LiveScreen(sys.stderr)
        self._drawn = 0.0
        self._recent: list[str] = []
        self._known: tuple[RunEvent, RunState, Callable[[str], str]] | None = None
        self._hint = ""
        self._lack = ""

    def __call__(self, event: RunEvent, state: RunState, last_line: Callable[[str], str]) -> None:
        with self._although_unread():
            self._tell(event, state, last_line)

    def _tell(self, event: RunEvent, state: RunState, last_line: Callable[[str], str]) -> None:
        self._known = (event, state, last_line)
        if event["event"] == "tick" or (event["event"] in UNSAID and not self._as_json):
            self._draw()
            return
        self._hint = ""
        if event["event"] in ("waiting", "goes_on"):
            self._lack = event["text"]
        if self._as_json:
            self._print_json(event)
        elif self._lives:
            lines = [unstyle(line) for line in _line(event).splitlines()]
            self._recent = [*self._recent, *lines][-max(RECENT, len(lines)) :]
            self._draw(late=event["event"] == "ending")
        elif not self._quiet or event["event"] in QUIET:
            echo(f"{self._clock()} {_line(event)}", error=True)
            sys.stderr.flush()

    def waiting(self, hint: str) -> None:
        """Tell the person at this terminal what the run waits for."""
        self._hint = hint
        self._draw(late=True)

    def _draw(self, *, late: bool = False) -> None:
        now = time.monotonic()
        if (
            not self._lives
            or self._known is None
            or (not late and now - self._drawn < DRAW_SECONDS)
        ):
            return
        self._drawn = now
        event, state, last_line = self._known
        columns, height = terminal_size(2)
        lines = screen(
            state,
            now=clock.now(),
            columns=columns,
            height=height,
            cost="" if event["cost"] is None else amount("cost", event["cost"]),
            last_line=last_line,
            recent=self._recent,
            lack=self._lack,
            hint=self._hint,
        )
        self._screen.draw(lines)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The usual screen, for as long as a person is asked something."""
        lived = self._lives
        self.end()
        self._lives = False
        try:
            yield
        finally:
            self._lives = lived

    def end(self) -> None:
        """Take the living screen away."""
        self._screen.leave()


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
