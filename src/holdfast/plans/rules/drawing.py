"""Waves and dependencies as a picture: first as data, then as lines for a terminal.

What a run made of the plans comes in as `states`, so that a page can draw the same picture live.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from holdfast.kernel.text import safe, shortened, width
from holdfast.plans.rules.kind import kind_of
from holdfast.plans.rules.run_model import ASKED, FAILED, REFUSED, SKIPPED
from holdfast.plans.rules.waves import phases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.plans.rules.model import Plan
    from holdfast.plans.rules.run_model import PlanRun, RunState

    State = Literal["", "open", "running", "waiting", "done", "failed", "skipped"]
    Paint = Callable[[str, str], str]


class PlanNode(TypedDict):
    """A plan in the picture. `pauses` says where it waits for people, and for what. `state` is
    empty where there is no run."""

    id: str
    name: str
    title: str
    tasks: int
    autonomous: bool
    reason: str
    pauses: list[str]
    depends_on: list[str]
    state: State


class Wave(TypedDict):
    wave: int
    plans: list[PlanNode]


class Phase(TypedDict):
    phase: str
    waves: list[Wave]


# How each state looks in a terminal; without a run a plan has none.
MARKS = {
    "": "",
    "open": "·",
    "running": "▶",
    "waiting": "◆",
    "done": "✓",
    "failed": "✗",
    "skipped": "–",
}
WIDEST = 100
NARROWEST = 24


def graph(plans: Sequence[Plan], states: Mapping[str, State] | None = None) -> list[Phase]:
    """The picture of plans that have their waves: those that run in parallel come first in a wave."""
    drawn: list[Phase] = []
    for phase, waves in phases(plans):
        found: list[Wave] = []
        for wave in waves:
            nodes = [_node(plan, states) for plan in wave]
            nodes.sort(key=lambda node: not node["autonomous"])
            found.append({"wave": wave[0]["wave"] or 1, "plans": nodes})
        drawn.append({"phase": phase, "waves": found})
    return drawn


def _node(plan: Plan, states: Mapping[str, State] | None) -> PlanNode:
    kind = kind_of(plan)
    named = plan["title"] or next(
        (task["name"] for task in plan["tasks"] if task["gate"] is None), ""
    )
    return {
        "id": plan["id"],
        "name": plan["plan"],
        "title": " ".join(safe(named).split()),
        "tasks": sum(task["gate"] is None for task in plan["tasks"]),
        "autonomous": kind["autonomous"],
        "reason": kind["reason"],
        "pauses": _pauses(plan),
        "depends_on": plan["depends_on"],
        "state": "" if states is None else states.get(plan["id"], "open"),
    }


def _pauses(plan: Plan) -> list[str]:
    found, done = [], 0
    for task in plan["tasks"]:
        if task["gate"] is not None:
            where = f"after task {done}" if done else "first"
            found.append(f"{task['type']} {where}")
        done = max(done, task["number"])
    return found


def states_of(run: RunState) -> dict[str, State]:
    """Where each plan of a run stands."""
    return {id: state_of(plan) for id, plan in run["plans"].items()}


def state_of(plan: PlanRun) -> State:
    tasks = {task["status"] for task in plan["tasks"].values()}
    gates = {gate["status"] for gate in plan["gates"].values()}
    if tasks | gates == {SKIPPED}:
        return "skipped"
    if plan["closed"]:
        return "done"
    if FAILED in tasks or REFUSED in gates:
        return "failed"
    if ASKED in gates:
        return "waiting"
    return "running" if plan["began_at"] else "open"


def lines(drawn: Sequence[Phase], columns: int, paint: Paint | None = None) -> Iterator[str]:
    """The picture for a terminal. `paint` colours a text by its part: `phase`, `wave`, `plan`, `dim`, or
    the name of a state."""
    columns = max(NARROWEST, min(columns, WIDEST))
    paint = paint or (lambda text, _: text)
    for number, phase in enumerate(drawn):
        if number:
            yield ""
        yield _phase_line(phase, columns, paint)
        for position, wave in enumerate(phase["waves"]):
            if position:
                yield paint("  │", "dim")
            yield _wave_line(wave, columns, paint)
            last = position == len(phase["waves"]) - 1
            names = max(width(node["name"]) for node in wave["plans"])
            for index, node in enumerate(wave["plans"]):
                end = last and index == len(wave["plans"]) - 1
                yield from _node_lines(node, phase["phase"], names, columns, paint, end=end)


def _phase_line(phase: Phase, columns: int, paint: Paint) -> str:
    count = sum(len(wave["plans"]) for wave in phase["waves"])
    head = f"Phase {phase['phase']}"
    rest = f" · {_plural(count, 'plan')} in {_plural(len(phase['waves']), 'wave')}"
    rest = rest if width(head + rest) <= columns else ""
    rule = "─" * max(0, columns - width(head + rest) - 1)
    return f"{paint(head, 'phase')}{paint(f'{rest} {rule}'.rstrip(), 'dim')}"


def _wave_line(wave: Wave, columns: int, paint: Paint) -> str:
    parallel = sum(node["autonomous"] for node in wave["plans"])
    alone = len(wave["plans"]) - parallel
    parts = [f"{parallel} in parallel"] if parallel > 1 else []
    if alone:
        behind = "then " if parallel else ""
        parts.append(f"{behind}{alone} one by one" if alone > 1 else f"{behind}1 alone")
    head = f"  ● wave {wave['wave']}"
    rest = shortened(f"  {', '.join(parts)}" if parts else "", columns - width(head))
    return paint(head, "wave") + paint(rest, "dim")


def _node_lines(
    node: PlanNode, phase: str, names: int, columns: int, paint: Paint, *, end: bool
) -> Iterator[str]:
    mark = MARKS[node["state"]]
    lead = "  └─ " if end else "  ├─ "
    below = ("   " if end else "  │") + " " * 2
    label = f"{mark} " if mark else ""
    name = node["name"] + " " * (names - width(node["name"]))
    start = width(lead + label + name) + 2
    count = _plural(node["tasks"], "task")
    if columns - start - width(count) - 2 < 12:
        count = ""
    room = max(columns - start - (width(count) + 2 if count else 0), 8)
    title = shortened(node["title"], room)
    needs = [id.removeprefix(f"{phase}/") for id in node["depends_on"]]
    arrow = f"  ← {' '.join(needs)}" if needs else ""
    fits = width(title + arrow) <= room
    shown = title + (paint(arrow, "dim") if fits else "")
    gap = " " * (room - width(title + (arrow if fits else "")) + 2) if count else ""
    yield (
        f"{paint(lead, 'dim')}{paint(label, node['state'])}{paint(name, node['state'] or 'plan')}  "
        f"{shown}{gap}{paint(count, 'dim')}"
    ).rstrip()
    indent = below + " " * (start - width(below))
    indent = indent if columns - len(indent) >= 16 else below + " "
    if needs and not fits:
        for line in _wrapped("← ", needs, columns - width(indent)):
            yield paint(indent + line, "dim")
    for pause in node["pauses"]:
        colour = "waiting" if node["state"] in ("", "open", "running", "waiting") else "dim"
        text = shortened(f"◆ {pause}", columns - width(indent))
        yield paint(indent, "dim") + paint(text, colour)


def _wrapped(head: str, names: Sequence[str], columns: int) -> Iterator[str]:
    line = head
    for name in names:
        if width(line) + width(name) > columns and line.strip() != head.strip():
            yield line.rstrip()
            line = " " * width(head)
        line += f"{shortened(name, max(columns - width(head), 4))} "
    yield line.rstrip()


def _plural(count: int, one: str) -> str:
    return f"{count} {one}{'' if count == 1 else 's'}"
