"""Waves and dependencies as a picture: as data, as lines for a terminal, and as SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Literal, TypedDict

from holdfast.kernel.text import plural, safe, shortened, width
from holdfast.plans.rules.model import kind_of
from holdfast.plans.rules.run_model import ASKED, FAILED, REFUSED, SKIPPED
from holdfast.plans.rules.waves import phases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from holdfast.plans.rules.model import Plan
    from holdfast.plans.rules.run_model import PlanRun, RunState

    State = Literal["", "open", "running", "waiting", "done", "failed", "skipped"]
    Paint = Callable[[str, str], str]

    Corner = tuple[int, int]

NODE_WIDTH, NODE_HEIGHT = 216, 62
GAP_ACROSS, GAP_DOWN = 64, 16
MARGIN, HEAD, WAVE_HEAD = 24, 34, 26
# So many columns of letters fit into a node.
LETTERS = 29
# Name, light and dark: the line of a node, and the colour of its word.
_COLOURS = {
    "open": ("#8b949e", "#6e7681"),
    "running": ("#0969da", "#58a6ff"),
    "waiting": ("#9a6700", "#d29922"),
    "done": ("#1a7f37", "#3fb950"),
    "failed": ("#cf222e", "#f85149"),
    "skipped": ("#8b949e", "#6e7681"),
}


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
    """The data of the picture. In a wave, the plans that run in parallel come first."""
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
    """The state of each plan of a run."""
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
    rest = f" · {plural(count, 'plan')} in {plural(len(phase['waves']), 'wave')}"
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
    count = plural(node["tasks"], "task")
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
        for line in _wrap("← ", needs, columns - width(indent)):
            yield paint(indent + line, "dim")
    for pause in node["pauses"]:
        colour = "waiting" if node["state"] in ("", "open", "running", "waiting") else "dim"
        text = shortened(f"◆ {pause}", columns - width(indent))
        yield paint(indent, "dim") + paint(text, colour)


def _wrap(head: str, names: Sequence[str], columns: int) -> Iterator[str]:
    line = head
    for name in names:
        if width(line) + width(name) > columns and line.strip() != head.strip():
            yield line.rstrip()
            line = " " * width(head)
        line += f"{shortened(name, max(columns - width(head), 4))} "
    yield line.rstrip()


def svg(drawn: Sequence[Phase], title: str = "Plans in waves") -> str:
    """The picture as an SVG file."""
    corners, height = _place_nodes(drawn)
    columns = max((len(phase["waves"]) for phase in drawn), default=1)
    across = 2 * MARGIN + columns * NODE_WIDTH + (columns - 1) * GAP_ACROSS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="holdfast-graph" width="{across}" '
        f'height="{height}" viewBox="0 0 {across} {height}" role="img" '
        'aria-labelledby="holdfast-graph-title holdfast-graph-text">',
        f'<title id="holdfast-graph-title">{_text(title)}</title>',
        f'<desc id="holdfast-graph-text">{_text(_describe(drawn))}</desc>',
        f"<style>{_style()}</style>",
        f'<rect class="ground" width="{across}" height="{height}"/>',
    ]
    for phase in drawn:
        parts += _draw_heads(phase, corners, across)
    for phase in drawn:
        parts += _draw_edges(phase, corners)
    for phase in drawn:
        for wave in phase["waves"]:
            for node in wave["plans"]:
                parts += _draw_node(node, phase["phase"], corners[node["id"]])
    return "\n".join([*parts, "</svg>", ""])


def _place_nodes(drawn: Sequence[Phase]) -> tuple[dict[str, Corner], int]:
    """The upper left corner of every plan, and the height of the picture."""
    corners: dict[str, Corner] = {}
    top = MARGIN
    for phase in drawn:
        first = top + HEAD + WAVE_HEAD
        deepest = 0
        for column, wave in enumerate(phase["waves"]):
            left = MARGIN + column * (NODE_WIDTH + GAP_ACROSS)
            for row, node in enumerate(wave["plans"]):
                corners[node["id"]] = (left, first + row * (NODE_HEIGHT + GAP_DOWN))
            deepest = max(deepest, len(wave["plans"]))
        top = first + deepest * (NODE_HEIGHT + GAP_DOWN) + MARGIN
    return corners, top


def _draw_heads(phase: Phase, corners: dict[str, Corner], across: int) -> Iterator[str]:
    left, top = corners[phase["waves"][0]["plans"][0]["id"]]
    line = top - WAVE_HEAD - HEAD + 24
    yield f'<text class="phase" x="{left}" y="{line - 8}">Phase {_text(phase["phase"])}</text>'
    yield f'<path class="rule" d="M{left} {line}H{across - MARGIN}"/>'
    for wave in phase["waves"]:
        x, y = corners[wave["plans"][0]["id"]]
        yield f'<text class="wave" x="{x}" y="{y - 10}">wave {wave["wave"]}</text>'


def _draw_edges(phase: Phase, corners: dict[str, Corner]) -> Iterator[str]:
    for wave in phase["waves"]:
        for node in wave["plans"]:
            x, y = corners[node["id"]]
            for need in node["depends_on"]:
                # Phases follow each other anyway; what is needed of an earlier one is said in words.
                if not need.startswith(f"{phase['phase']}/") or need not in corners:
                    continue
                from_x, from_y = corners[need]
                start_x, start_y = from_x + NODE_WIDTH, from_y + NODE_HEIGHT // 2
                end_y = y + NODE_HEIGHT // 2
                bend = max((x - start_x) // 2, 20)
                curve = f"C{start_x + bend} {start_y} {x - bend} {end_y} {x} {end_y}"
                yield f'<path class="edge" d="M{start_x} {start_y}{curve}"/>'


def _draw_node(node: PlanNode, phase: str, corner: Corner) -> Iterator[str]:
    x, y = corner
    state = node["state"]
    yield f'<g class="plan {state}" transform="translate({x} {y})">'
    yield f"<title>{_text(_describe_node(node))}</title>"
    yield f'<rect class="box" width="{NODE_WIDTH}" height="{NODE_HEIGHT}" rx="8"/>'
    yield f'<rect class="side" width="5" height="{NODE_HEIGHT - 16}" x="0" y="8" rx="2"/>'
    name = _text(shortened(safe(node["name"]), LETTERS - (10 if state else 2)))
    yield f'<text class="name" x="16" y="21">{name}</text>'
    if state:
        yield f'<text class="state" x="{NODE_WIDTH - 12}" y="21">{state}</text>'
    yield f'<text class="title" x="16" y="38">{_text(shortened(node["title"], LETTERS))}</text>'
    left = 16
    if node["pauses"]:
        yield '<path class="pause" d="M21 45l5 5-5 5-5-5z"/>'
        left = 31
    small = shortened(_last_line(node, phase), LETTERS + 3 - (left - 16) // 6)
    yield f'<text class="small" x="{left}" y="54">{_text(small)}</text>'
    yield "</g>"


def _last_line(node: PlanNode, phase: str) -> str:
    """The last line of a node: the number of tasks, what it waits for, and what it needs from earlier
    phases."""
    kinds = ", ".join(one.split()[0] for one in node["pauses"])
    far = [id for id in node["depends_on"] if not id.startswith(f"{phase}/")]
    parts = [plural(node["tasks"], "task"), kinds]
    parts.append(f"after {' '.join(far)}" if far else "")
    if not kinds and not far:
        parts.append("autonomous" if node["autonomous"] else "one by one")
    return " · ".join(part for part in parts if part)


def _describe_node(node: PlanNode) -> str:
    parts = [node["id"], node["title"]]
    if node["state"]:
        parts.append(node["state"])
    parts += node["pauses"] or [node["reason"]]
    if node["depends_on"]:
        parts.append(f"after {', '.join(node['depends_on'])}")
    return "; ".join(part for part in parts if part)


def _describe(drawn: Sequence[Phase]) -> str:
    return " ".join(
        f"Phase {phase['phase']}, wave {wave['wave']}: {', '.join(map(_name_with_state, wave['plans']))}."
        for phase in drawn
        for wave in phase["waves"]
    )


def _name_with_state(node: PlanNode) -> str:
    return f"{node['name']} ({node['state']})" if node["state"] else node["name"]


def _text(text: str) -> str:
    return escape(safe(" ".join(text.split())))


def _style() -> str:
    """One rule for each part, then the differences in the dark. Colours are not variables, because not
    every reader of SVG knows them."""
    of = ".holdfast-graph "
    light = {
        ".ground": "fill:#ffffff",
        "text": "font:12px system-ui,sans-serif;fill:#1f2328",
        ".phase": "font-size:16px;font-weight:600",
        ".wave,.small": "fill:#59636e",
        ".small": "font-size:11px",
        ".name": "font-weight:600;font-size:13px",
        ".state": "text-anchor:end;font-size:11px;font-weight:600",
        ".rule": "stroke:#d1d9e0;fill:none",
        ".box": "fill:#f6f8fa;stroke:#d1d9e0",
        ".side": "fill:#8b949e",
        ".edge": "fill:none;stroke:#8b949e;stroke-width:1.3",
        ".pause": "fill:#9a6700",
        ".skipped text": "opacity:.6",
    }
    dark = {
        ".ground": "fill:#0d1117",
        "text": "fill:#e6edf3",
        ".wave,.small": "fill:#9198a1",
        ".rule": "stroke:#3d444d",
        ".box": "fill:#151b23;stroke:#3d444d",
        ".side": "fill:#6e7681",
        ".edge": "stroke:#6e7681",
        ".pause": "fill:#d29922",
    }
    for state, (bright, dim) in _COLOURS.items():
        for rules, colour in ((light, bright), (dark, dim)):
            rules[f".{state} .side,.{state} .state"] = f"fill:{colour}"
            if state not in ("open", "skipped"):
                rules[f".{state} .box"] = f"stroke:{colour}"
    night = "".join(_rule(of, names, body) for names, body in dark.items())
    day = "".join(_rule(of, names, body) for names, body in light.items())
    return f"{day}@media (prefers-color-scheme:dark){{{night}}}"


def _rule(of: str, names: str, body: str) -> str:
    return f"{','.join(of + name for name in names.split(','))}{{{body}}}"
