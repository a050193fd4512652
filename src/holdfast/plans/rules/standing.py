"""Where a run stands, in the words of a waypoint: phase, plan, the last task done and the next."""

from __future__ import annotations

from holdfast.plans.rules.ready import is_done, phase_at, wave_at
from holdfast.plans.rules.run_model import DONE, PASSED, SKIPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import Place
    from holdfast.plans.rules.run_model import PlanRun, RunState


def standing(state: RunState) -> Place:
    """The place of a run. Of several plans at once, the first that is not done."""
    plan = plan_at(state)
    phase = phase_at(state)
    return {
        "phase": phase["phase"] if phase else None,
        "plan": plan["plan"]["plan"] if plan else None,
        "last_task_completed": last_task(state),
        "next_task": _next(plan) if plan else None,
    }


def plan_at(state: RunState) -> PlanRun | None:
    """The plan that the run is at: begun ones first, in the order of their wave."""
    phase, number = wave_at(state)
    for each in state["phases"]:
        if each["phase"] == phase and number:
            plans = [state["plans"][id] for id in each["waves"][number - 1]]
            left = [plan for plan in plans if not plan["closed"] and not is_done(plan)]
            begun = [plan for plan in left if plan["began_at"]]
            return next(iter([*begun, *left]), None)
    return None


def last_task(state: RunState) -> str | None:
    """The task that was accepted last."""
    last = state["last"]
    if last is None:
        return None
    return name_of(state["plans"][last[0]], last[1])


def _next(plan: PlanRun) -> str | None:
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
