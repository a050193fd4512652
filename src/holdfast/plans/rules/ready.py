"""What may happen now: a pure function of the run's state.

Phases one after the other, and the waves of a phase likewise. In a wave the autonomous plans run in
parallel; those that wait for people come one by one afterwards, before the next wave (PILOT-39, 40;
AMB-PILOT-19). Inside a plan everything is in the file's order.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from holdfast.budgets.rules.ledger import Position
from holdfast.kernel.blank import blank
from holdfast.plans.rules.run_model import (
    ASKED,
    DONE,
    FAILED,
    OPEN,
    PASSED,
    REFUSED,
    RUNNING,
    SKIPPED,
    PhaseRun,
    PlanRun,
    RunState,
)


class Act(TypedDict):
    """One thing to do: `start` a task, `ask` a gate, `close` a plan, `verify` the goals of a phase,
    or `end` the run. `plan` and `key`, or `phase`, say to what."""

    do: Literal["start", "ask", "close", "verify", "end"]
    plan: str
    key: str
    phase: str


def ready(state: RunState, jobs: int) -> list[Act]:
    """What to do now, with at most so many programs at a time."""
    if state["status"] != "running":
        return []
    for phase in state["phases"]:
        for wave in phase["waves"]:
            plans = {id: state["plans"][id] for id in wave}
            if not all(plan["closed"] for plan in plans.values()):
                return _in_wave(state, plans, jobs)
        if phase["unmet"] is None:
            return [_act("verify", phase=phase["phase"])]
        if phase["unmet"]:
            return []
    return [_act("end")]


def _in_wave(state: RunState, plans: dict[str, PlanRun], jobs: int) -> list[Act]:
    unclosed = {id: plan for id, plan in plans.items() if not plan["closed"]}
    closing = [_act("close", plan=id) for id, plan in unclosed.items() if is_done(plan)]
    if any(has_failed(plan) for plan in unclosed.values()):
        return closing  # what runs is let run, and nothing new begins
    running = sum(is_running(plan) for plan in unclosed.values())
    parallel = {id: plan for id, plan in unclosed.items() if plan["autonomous"]}
    acts = list(closing)
    if parallel:
        for id, plan in parallel.items():
            key = next_task(plan)
            if key and running < jobs:
                acts.append(_act("start", plan=id, key=key))
                running += 1
        return acts
    for id, plan in unclosed.items():
        if not is_done(plan):
            task, gate = next_task(plan), next_gate(plan)
            if gate:
                acts.append(_act("ask", plan=id, key=gate))
            if task and not running:
                acts.append(_act("start", plan=id, key=task))
            break
    return acts


def next_task(plan: PlanRun) -> str:
    """The next task of a plan, if it may begin: nothing of the plan runs, and every gate before it is
    passed. Else empty."""
    for task in plan["plan"]["tasks"]:
        key = task["key"]
        if task["gate"] is not None:
            if plan["gates"][key]["status"] not in (PASSED, SKIPPED):
                return ""
            continue
        status = plan["tasks"][key]["status"]
        if status in (RUNNING, FAILED):
            return ""
        if status == OPEN:
            return key
    return ""


def next_gate(plan: PlanRun) -> str:
    """The gate to ask now, if everything before it is done. Else empty."""
    for task in plan["plan"]["tasks"]:
        key = task["key"]
        if task["gate"] is None:
            if plan["tasks"][key]["status"] not in (DONE, SKIPPED):
                return ""
        elif plan["gates"][key]["status"] not in (PASSED, SKIPPED):
            return key if plan["gates"][key]["status"] == OPEN else ""
    return ""


def waiting_gates(state: RunState) -> list[tuple[str, str]]:
    """The gates that were asked and have no answer: plan and key."""
    return [
        (id, key)
        for id, plan in state["plans"].items()
        for key, gate in plan["gates"].items()
        if gate["status"] == ASKED
    ]


def is_running(plan: PlanRun) -> bool:
    return any(task["status"] == RUNNING for task in plan["tasks"].values())


def is_done(plan: PlanRun) -> bool:
    return all(task["status"] in (DONE, SKIPPED) for task in plan["tasks"].values()) and all(
        gate["status"] in (PASSED, SKIPPED) for gate in plan["gates"].values()
    )


def has_failed(plan: PlanRun) -> bool:
    """Whether a task of the plan failed for good, or a person found issues."""
    return any(task["status"] == FAILED for task in plan["tasks"].values()) or any(
        gate["status"] == REFUSED for gate in plan["gates"].values()
    )


def phase_at(state: RunState) -> PhaseRun | None:
    """The phase that the run is in; None at its end."""
    for phase in state["phases"]:
        plans = [state["plans"][id] for wave in phase["waves"] for id in wave]
        if phase["unmet"] != [] or not all(plan["closed"] for plan in plans):
            return phase
    return None


def wave_at(state: RunState) -> tuple[str, int]:
    """The phase and the number of its wave, as the plans number it; 0 when the phase has no wave
    left."""
    phase = phase_at(state)
    if phase is None:
        return "", 0
    for number, wave in numbered_waves(state, phase):
        if not all(state["plans"][id]["closed"] for id in wave):
            return phase["phase"], number
    return phase["phase"], 0


def numbered_waves(state: RunState, phase: PhaseRun) -> list[tuple[int, list[str]]]:
    """The waves of a phase, each with the number that its plans' files give it."""
    return [
        (state["plans"][wave[0]]["plan"]["wave"] or place, wave)
        for place, wave in enumerate(phase["waves"], 1)
    ]


def _act(do: str, **to: str) -> Act:
    return blank(Act, do=do, **to)


# In the words of a waypoint


def position_of(state: RunState) -> Position:
    """Where a run is: phase, plan, last completed task and next task. Of several plans, the first that
    is not done."""
    plan, phase, last = plan_at(state), phase_at(state), state["last"]
    return {
        "phase": phase["phase"] if phase else None,
        "plan": plan["plan"]["plan"] if plan else None,
        "last_task_completed": name_of(state["plans"][last[0]], last[1]) if last else None,
        "next_task": _next_name(plan) if plan else None,
    }


def plan_at(state: RunState) -> PlanRun | None:
    """The plan that the run is at: begun plans first, in the order of their wave."""
    phase = phase_at(state)
    for wave in phase["waves"] if phase else ():
        unclosed = [plan for id in wave if not (plan := state["plans"][id])["closed"]]
        if unclosed:
            left = [plan for plan in unclosed if not is_done(plan)]
            begun = [plan for plan in left if plan["began_at"]]
            return next(iter([*begun, *left]), None)
    return None


def _next_name(plan: PlanRun) -> str | None:
    for task in plan["plan"]["tasks"]:
        key = task["key"]
        run = plan["gates"][key] if task["gate"] is not None else plan["tasks"][key]
        if run["status"] not in (DONE, PASSED, SKIPPED):
            return name_of(plan, key)
    return None


def name_of(plan: PlanRun, key: str) -> str:
    """`3/06#4 Start dev server`."""
    task = next(one for one in plan["plan"]["tasks"] if one["key"] == key)
    title = task["gate"]["title"] if task["gate"] is not None else task["name"]
    return f"{plan['plan']['id']}#{key} {title}".rstrip()
