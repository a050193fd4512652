"""Running a run from the command line: signals, the watch, and what is said at the end."""

from __future__ import annotations

from typing import Any

from holdfast.budgets import acknowledge
from holdfast.budgets.check import Budget
from holdfast.budgets.rules import boxes
from holdfast.cli.frame import INTERRUPTED, Call, Reply
from holdfast.cli.plan_attendants import AtTerminal, Patient, is_person_here
from holdfast.cli.plan_options import limits_of
from holdfast.cli.plan_screen import summary, ways_on
from holdfast.cli.plan_watch import PlanWatch
from holdfast.cli.terminal import echo
from holdfast.kernel.errors import NotAllowed
from holdfast.plans import lookup
from holdfast.plans.cluster.address import Certificates
from holdfast.plans.executor_choice import cluster, run_to_end
from holdfast.plans.rules.ready import waiting_gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from holdfast.budgets.rules.thresholds import Limits
    from holdfast.plans.cluster.link import Link
    from holdfast.plans.news import Attendant, Halted
    from holdfast.plans.rules.run_model import RunState


def run(
    call: Call,
    id: str,
    *,
    jobs: int | None,
    wait: bool,
    edited: str | None,
    limits: Limits,
    quiet: bool,
    link: Link | None,
) -> Reply:
    """Run it until it ends or stands still, and say which."""
    watch = PlanWatch(as_json=call.as_json, quiet=quiet)
    attendant: Attendant | None = Patient(call.workspace) if wait else None
    if is_person_here() and not call.as_json:
        attendant = AtTerminal(call.workspace, watch)
    try:
        outcome = run_to_end(
            call.writer,
            id,
            actor=call.actor,
            link=link,
            jobs=jobs,
            edited=edited or "",
            limits=limits,
            tell=watch,
            attendant=attendant,
            before_exit=watch.end,
        )
    except KeyboardInterrupt:
        return Reply({"run": id, "ended": "interrupted"}, exit_code=INTERRUPTED)
    finally:
        watch.end()
    if outcome.halted is not None:
        return _stands_still(outcome.state, outcome.halted, outcome.alerts)
    counts = lookup.count(outcome.state)
    data: dict[str, Any] = {"run": id, "ended": "done", **counts, "cost": outcome.cost}
    return Reply(data, summary(outcome.state), next=[f"holdfast plan show {id}"])


def cluster_of(
    call: Call, on: str | None, ca: str, cert: str, key: str
) -> AbstractContextManager[Link | None]:
    """The cluster that the flags or the settings name, if they name one."""
    return cluster(call.workspace, on, Certificates(ca, cert, key), alone=True)


def _stands_still(state: RunState, halted: Halted, alerts: Sequence[str]) -> Reply:
    gates = [state["plans"][id]["gates"][key]["gate"] for id, key in waiting_gates(state)]
    data = {
        "run": state["id"],
        "ended": "paused",
        "reason": halted.reason,
        "text": halted.text,
        "waypoint": halted.waypoint,
        "gates": gates,
        **lookup.count(state),
    }
    ways = ways_on(state, alerts)
    return Reply(data, summary(state, alerts), next=ways, exit_code=halted.exit_code)


def limits_in_force(call: Call, flags: Limits) -> Limits:
    """Flags that lower a limit hold for this run. One that raises a limit is a person's word, who is
    asked for it; without one, it is refused."""
    if not flags:
        return {}
    budget = Budget(call.workspace, actor=call.actor)
    try:
        budget.in_force(flags)
    except NotAllowed as refused:
        if refused.kind != "limit_raised" or not is_person_here():
            raise
        acknowledge.reset(budget, flags, now=call.now)
        return {}
    return flags


def clear_alerts(call: Call) -> None:
    """Clear the acknowledgments; after a stop a person is asked, and for a new limit."""
    acknowledge.reset(Budget(call.workspace, actor=call.actor), {}, now=call.now)
    echo(boxes.CLEARED, error=True)


def cost_limits(
    call: Call,
    max_cost: str | None,
    warn_cost: str | None,
    alert_cost: str | None,
    no_cost_limit: bool,
) -> Limits:
    return limits_in_force(call, limits_of(max_cost, warn_cost, alert_cost, no_cost_limit))
