"""Phases, waves and dependencies as data, and as a flowchart for Mermaid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypedDict

from holdfast.kernel.text import plural, safe
from holdfast.plans.rules.model import Plan, kind_of
from holdfast.plans.rules.run_model import ASKED, FAILED, REFUSED, SKIPPED, PlanRun, RunState
from holdfast.plans.rules.waves import phases

State = Literal["", "open", "running", "waiting", "done", "failed", "skipped"]


# The sign of each state; without a run a plan has none.
MARKS = {
    "": "",
    "open": "·",
    "running": "▶",
    "waiting": "◆",
    "done": "✓",
    "failed": "✗",
    "skipped": "–",
}


class PlanNode(TypedDict):
    """A plan of the graph. `pauses` says where it waits for people, and for what. `state` is
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


def build_graph(plans: Sequence[Plan], states: Mapping[str, State] | None = None) -> list[Phase]:
    """Return the phases with their waves. In a wave, the plans that run in parallel come first."""
    graph: list[Phase] = []
    for phase, waves in phases(plans):
        found: list[Wave] = []
        for wave in waves:
            nodes = [_build_node(plan, states) for plan in wave]
            nodes.sort(key=lambda node: not node["autonomous"])
            found.append({"wave": wave[0]["wave"] or 1, "plans": nodes})
        graph.append({"phase": phase, "waves": found})
    return graph


def _build_node(plan: Plan, states: Mapping[str, State] | None) -> PlanNode:
    kind = kind_of(plan)
    names = [task["name"] for task in plan["tasks"] if task["gate"] is None]
    named = plan["title"] or next(iter(names), "")
    return {
        "id": plan["id"],
        "name": plan["plan"],
        "title": " ".join(safe(named).split()),
        "tasks": len(names),
        **kind,
        "pauses": _list_pauses(plan),
        "depends_on": plan["depends_on"],
        "state": "" if states is None else states.get(plan["id"], "open"),
    }


def _list_pauses(plan: Plan) -> list[str]:
    found, done = [], 0
    for task in plan["tasks"]:
        if task["gate"] is not None:
            where = f"after task {done}" if done else "first"
            found.append(f"{task['type']} {where}")
        done = max(done, task["number"])
    return found


def describe_wave(wave: Wave) -> str:
    """Say how many plans of a wave run at the same time, and how many one by one: `2 in parallel, then 1
    alone`. Empty for a single autonomous plan."""
    parallel = sum(node["autonomous"] for node in wave["plans"])
    alone = len(wave["plans"]) - parallel
    parts = [f"{parallel} in parallel"] if parallel > 1 else []
    if alone:
        behind = "then " if parallel else ""
        parts.append(f"{behind}{alone} one by one" if alone > 1 else f"{behind}1 alone")
    return ", ".join(parts)


def shorten_ids(phase: str, ids: Sequence[str]) -> list[str]:
    """Return the ids without the phase where it is this one."""
    return [id.removeprefix(f"{phase}/") for id in ids]


def find_states(run: RunState) -> dict[str, State]:
    """Return the state of each plan of a run."""
    return {id: find_state(plan) for id, plan in run["plans"].items()}


def find_state(plan: PlanRun) -> State:
    """Return the state of one plan of a run."""
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


def draw_mermaid(graph: Sequence[Phase]) -> Iterator[str]:
    """Return the lines of a Mermaid flowchart: a box for each phase, in it one for each wave."""
    names: dict[str, str] = {}
    yield "flowchart LR"
    for number, phase in enumerate(graph, 1):
        yield f"  subgraph phase{number}[{_quote('Phase ' + phase['phase'])}]"
        for wave in phase["waves"]:
            count = wave["wave"]
            yield f'    subgraph phase{number}wave{count}["wave {count}"]'
            for node in wave["plans"]:
                names[node["id"]] = f"plan{len(names) + 1}"
                first = f"{MARKS[node['state']]} {node['name']} {node['title']}".strip()
                label = _quote(first, plural(node["tasks"], "task"), *node["pauses"])
                yield f"      {names[node['id']]}[{label}]"
            yield "    end"
        yield "  end"
    for phase in graph:
        for wave in phase["waves"]:
            for node in wave["plans"]:
                for need in node["depends_on"]:
                    if need in names:
                        yield f"  {names[need]} --> {names[node['id']]}"


def _quote(*lines: str) -> str:
    """Return a label in which each letter that Mermaid or HTML could read as its own is a number."""
    plain = [
        re.sub(r"[^\w .,/–✓▶◆✗·-]", lambda found: f"#{ord(found[0])};", safe(line))
        for line in lines
    ]
    return f'"{"<br>".join(plain)}"'
