"""Runs of plans: their cards and rows, and one with its waves as columns of cards, its tasks and gates, and why it
waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.budgets.pages import list_alerts
from holdfast.kernel.errors import NotFound
from holdfast.kernel.state import load
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.plans import runs
from holdfast.plans.rules import run as rules
from holdfast.plans.rules.graph import (
    Phase,
    State,
    build_graph,
    describe_wave,
    find_states,
    shorten_ids,
)
from holdfast.plans.rules.ready import wave_at
from holdfast.plans.rules.run_model import (
    ALERT_WAITS,
    ASKED,
    FAILED,
    OVER,
    RUNNING,
    PlanRun,
    RunState,
)
from holdfast.plans.runs import RunFolder
from holdfast.web import figures
from holdfast.web.background import SpendingMeter
from holdfast.web.cards import DONE, NEEDS, QUIET
from holdfast.web.cards import RUNNING as RUNNING_LANE
from holdfast.web.record_text import read_end, show_records
from holdfast.web.table import Card, Cards, Page, PageContext, Pages, link_to
from holdfast.web.workspaces import ServedWorkspace

# The page stays small: a run with more plans shows the phase at work.
MOST_PLANS, MOST_TASKS, MOST_BARS, MOST_RUNS = 80, 80, 24, 40
TONES = {
    "open": "",
    "running": "now",
    "waiting": "wait",
    "asked": "wait",
    "done": "good",
    "passed": "good",
    "failed": "bad",
    "refused": "bad",
    "skipped": "",
}


def gather(page: PageContext) -> dict[str, Any]:
    place = page.place
    workspace = place.workspace
    state = runs.find_run(workspace, page.words["id"])
    kept = RunFolder(workspace, state["id"])
    states = find_states(state)
    runner = kept.find_runner()
    if not runner:  # what was at work when its runner left is at work no more
        states = {id: "waiting" if word == RUNNING else word for id, word in states.items()}
    alerts = _alerts(workspace, state)
    phase, wave = wave_at(state)
    phases = _phases(state, states, phase)
    shown = sum(len(wave["plans"]) for one in phases for wave in one["waves"])
    chosen = _chosen(state, states, page.words["plan"])
    return {
        "workspace": place.key,
        **_pick(state, "id", "status", "begun_at", "ended_at", "root", "done", "total", "pause"),
        "name": _name(state),
        "phase": phase,
        "wave": wave,
        "runner": runner,
        "gone": state["status"] == "running" and not runner,
        "alerts": alerts,
        "unmet": {one["phase"]: one["unmet"] for one in state["phases"] if one["unmet"]},
        "gates": list(_gates(state)),
        "phases": phases,
        "counts": {word: sum(one == word for one in states.values()) for word in dict.fromkeys(states.values())},
        "more_plans": len(states) - shown,
        "chosen": chosen and {**_tasks(state, chosen), "state": states[chosen]},
        "log": _log(kept, state["plans"][chosen], page.words["task"]) if chosen else None,
        "work": figures.draw_bars(_work(state)[-MOST_BARS:], page.now),
        "refused": state["refused"] + len(workspace.journal.refusals(f"run:{state['id']}")),
        "next": "" if runner or state["status"] in OVER else runs.resume_command(state),
        "timeline": show_records(place, rules.stream_of(state["id"]), page.number("before")),
    }  # fmt: skip


def _alerts(workspace: Workspace, state: RunState) -> list[dict[str, str]]:
    """The open alerts of the budget for which this run is paused."""
    pause = state["pause"]
    if pause is None or pause["reason"] != ALERT_WAITS:
        return []
    names = ("type", "name", "value", "threshold")
    return [
        {name: alert[name] for name in names}
        | {"next": f"holdfast guard ack {quote(alert['type'])}"}
        for alert in list_alerts(workspace)
    ]


def _phases(state: RunState, states: dict[str, State], phase: str) -> list[dict[str, Any]]:
    """Return the phases with their waves and plans; of a run with too many plans only the phase at work."""
    plans = [plan["plan"] for plan in state["plans"].values()]
    if len(plans) > MOST_PLANS:
        plans = [plan for plan in plans if plan["phase"] == phase][:MOST_PLANS]
    return [
        {"phase": one["phase"], "waves": [_wave(state, one, number) for number in range(len(one["waves"]))]}
        for one in build_graph(plans, states)
    ]  # fmt: skip


def _wave(state: RunState, phase: Phase, number: int) -> dict[str, Any]:
    wave = phase["waves"][number]
    plans = [
        _plan(node["id"], state["plans"][node["id"]], node["state"])
        | {"name": node["name"], "after": shorten_ids(phase["phase"], node["depends_on"]), "pauses": node["pauses"]}
        for node in wave["plans"]
    ]  # fmt: skip
    return {"wave": wave["wave"], "how": describe_wave(wave), "plans": plans}


def _plan(id: str, plan: PlanRun, state: str) -> dict[str, Any]:
    titles = {task["key"]: task["name"] for task in plan["plan"]["tasks"]}
    doing, why = "", ""
    for key, task in plan["tasks"].items():
        if task["status"] == RUNNING:
            on = f" on {task['on']}" if task.get("on") else ""
            doing = f"#{key} {titles.get(key, '')}{on}".strip()
        elif task["status"] == FAILED:
            why = f"#{key} {titles.get(key, '')}: {task['why']}"
    for gate in plan["gates"].values():
        if gate["status"] == "refused":
            why = gate["text"] or gate["answer"]
    return {
        "id": id,
        "state": state,
        "tone": TONES[state],
        **runs.count_of(plan),
        **_pick(plan["plan"], "title", "path", "wave", "depends_on"),
        **_pick(plan, "autonomous", "reason", "began_at", "ended_at"),
        "doing": doing,
        "why": why,
    }


def _pick(table: Any, *names: str) -> dict[str, Any]:
    return {name: table[name] for name in names}


def _gates(state: RunState) -> Iterator[dict[str, Any]]:
    for id, plan in state["plans"].items():
        for task in plan["plan"]["tasks"]:
            gate = plan["gates"].get(task["key"])
            if gate is None or not gate["gate"]:
                continue
            content = task["gate"]
            yield {
                "plan": id,
                "gate": gate["gate"],
                "title": content["title"] if content else task["name"],
                "type": task["type"],
                "waits": gate["status"] == ASKED,
                "tone": TONES[gate["status"]],
                **_pick(gate, "status", "answer", "text", "by", "asked_at", "answered_at"),
            }


def _chosen(state: RunState, states: dict[str, State], wanted: str) -> str:
    """The plan whose tasks are shown: the one in the address, or the one that needs attention."""
    if wanted:
        if wanted not in state["plans"]:
            raise NotFound(
                f"{wanted:.60} is no plan of this run.", hint="The page of the run lists them."
            )
        return wanted
    for word in ("failed", "running", "waiting", "open", "done"):
        for id, found in states.items():
            if found == word:
                return id
    return next(iter(state["plans"]), "")


def _tasks(state: RunState, id: str) -> dict[str, Any]:
    plan = state["plans"][id]
    rows: list[dict[str, Any]] = []
    for task in plan["plan"]["tasks"][:MOST_TASKS]:
        key = task["key"]
        known = plan["gates"].get(key)
        if known is not None:
            said = " ".join(part for part in (known["answer"], known["text"]) if part)
            rows.append(
                {"key": key, "name": task["name"] or task["type"], "gate": known["gate"], "status": known["status"],
                 "tone": TONES[known["status"]], "seconds": None, "attempts": 0, "on": "", "said": said, "log": False}
            )  # fmt: skip
            continue
        run = plan["tasks"][key]
        spent = run["seconds"] if run["ended_at"] else None
        rows.append(
            {"key": key, "name": task["name"], "gate": "", "status": run["status"], "tone": TONES[run["status"]],
             "seconds": spent, "attempts": run["attempts"], "on": run.get("on", ""), "said": run["why"] or run["said"], "log": bool(run["log"])}
        )  # fmt: skip
    return {
        "id": id,
        "title": plan["plan"]["title"],
        "reason": plan["reason"],
        "tasks": rows,
        "more": max(0, len(plan["plan"]["tasks"]) - MOST_TASKS),
    }


def _log(kept: RunFolder, plan: PlanRun, wanted: str) -> dict[str, str] | None:
    """The end of what a task said: the one that was asked for, else the one that runs or failed."""
    begun = {key: task for key, task in plan["tasks"].items() if task["log"]}
    if wanted and wanted not in begun:
        raise NotFound(f"Task {wanted:.40} has said nothing.", hint="It has not begun.")
    loud = [key for key, task in begun.items() if task["status"] in (RUNNING, FAILED)]
    key = wanted or next(iter(loud or list(begun)[::-1]), "")
    return {"task": key, "text": read_end(kept.log(begun[key]["log"]))} if key else None


def _work(state: RunState) -> list[figures.WorkSpan]:
    """Tasks and waits in the order of their start."""
    found: list[figures.WorkSpan] = []

    def add(name: str, begin: str, end: str, status: str) -> None:
        if begin:
            found.append(figures.WorkSpan(name, begin, end, TONES[status], status))

    for id, plan in state["plans"].items():
        for key, task in plan["tasks"].items():
            end = "" if task["status"] == RUNNING else task["ended_at"] or task["began_at"]
            add(f"{id} #{key}", task["began_at"], end, task["status"])
        for key, gate in plan["gates"].items():
            add(f"{id} #{key} waits", gate["asked_at"], gate["answered_at"], gate["status"])
    return sorted(found, key=lambda one: one.begin)


def list_runs(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    """The newest runs of plans. A run that waits for a gate is quiet: the gate itself needs the
    person."""
    workspace = place.workspace
    if not workspace.exists():
        return
    heads = workspace.journal.heads(rules.STREAMS)
    heads.sort(key=lambda head: head["seen_at"], reverse=True)
    for head in heads[:MOST_RUNS]:
        state: RunState = load(workspace.journal, rules, head["stream"])[0]
        if not state["status"]:
            continue
        runner = bool(RunFolder(workspace, state["id"]).find_runner())
        over = state["status"] in OVER
        waits = runs.unanswered_gates(workspace, state)
        lane = DONE if over else RUNNING_LANE if runner else QUIET if waits else NEEDS
        stands = "running" if runner else "waiting" if waits else "paused"
        phase, wave = wave_at(state)
        resume = runs.resume_command(state)
        yield Card(
            key=f"{place.key}/run//Run {state['id']}",
            workspace=place.key,
            kind="run",
            name=_name(state),
            href=link_to(place.key, head["stream"]),
            lane=lane,
            word=state["status"] if over else stands,
            about=f"run {state['id']}"
            + (f" · phase {phase}, wave {wave}" if phase and not over else ""),
            doing=_task_of(state),
            why=_why_waiting(state, lane, waits),
            done=state["done"],
            steps=state["total"],
            seen_at=head["seen_at"],
            worktree=state["root"],
            choices=[resume] if lane == NEEDS else [],
            next="" if over else resume,
        )


def _why_waiting(state: RunState, lane: str, unanswered: list[tuple[str, str]]) -> list[str]:
    """What a run waits for: the questions by their titles, the alert, or the next runner."""
    if lane == NEEDS:
        return [runs.why_stalled(state)]
    asked = [f"waits for your answer: {runs.title_of(state, *one)}" for one in unanswered]
    return asked if lane == QUIET else []


def _task_of(state: RunState) -> str:
    """Return the task at work; empty without one."""
    for id, plan in state["plans"].items():
        titles = {task["key"]: task["name"] for task in plan["plan"]["tasks"]}
        for key, task in plan["tasks"].items():
            if task["status"] == "running":
                return f"{id} #{key} {titles.get(key, '')}".strip()
    return ""


def _name(state: RunState) -> str:
    """Return what a run is called: the titles of its plans."""
    return ", ".join(plan["plan"]["title"] or id for id, plan in state["plans"].items())


PAGES = Pages(
    pages=(
        Page(
            "run",
            "/w/{workspace}/runs/{id}",
            gather,
            words=("plan", "task", "before"),
            stream="run",
        ),
    ),
    cards=(
        Cards("runs", list_runs, "Plan runs", stream="run", begin="holdfast plan run", rank=10),
    ),
)
