"""Run plans from the command line: the person who watches, the limits, and the reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

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
from holdfast.plans.operations import Execution, RunContext, RunOutcome
from holdfast.plans.rules.ready import waiting_gates

if TYPE_CHECKING:
    from holdfast.budgets.acknowledge import Reset
    from holdfast.budgets.rules.thresholds import Limits
    from holdfast.plans.news import Halted
    from holdfast.plans.rules.run_model import RunState

Request = TypeVar("Request")


def carry_out(
    call: Call,
    operation: Callable[[RunContext, Request], RunOutcome],
    request: Request,
    *,
    wait: bool,
    quiet: bool,
) -> Reply:
    """Run an operation under the eyes of a person, and say how it ended."""
    watch = PlanWatch(as_json=call.as_json, quiet=quiet)
    context = RunContext(
        writer=call.writer, actor=call.actor, tell=watch, before_exit=watch.end, alone=True
    )
    if is_person_here() and not call.as_json:
        context.attendant = AtTerminal(call.workspace, watch)
    elif wait:
        context.attendant = Patient(call.workspace)
    try:
        outcome = operation(context, request)
    except KeyboardInterrupt:
        return Reply({"run": context.run, "ended": "interrupted"}, exit_code=INTERRUPTED)
    finally:
        watch.end()
    if outcome.halted is not None:
        return _stands_still(outcome.state, outcome.halted, outcome.alerts)
    counts = lookup.count(outcome.state)
    data: dict[str, Any] = {"run": context.run, "ended": "done", **counts, "cost": outcome.cost}
    return Reply(data, summary(outcome.state), next=[f"holdfast plan show {context.run}"])


def execution_of(
    limits: Limits,
    *,
    jobs: int | None,
    edited: str | None,
    on: str | None,
    tls_ca: str,
    tls_cert: str,
    tls_key: str,
) -> Execution:
    """How to carry out a run, as the options say it."""
    certificates = Certificates(tls_ca, tls_cert, tls_key)
    return Execution(
        jobs=jobs, edited=edited or "", limits=limits, on=on, certificates=certificates
    )


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


def clear_alerts(call: Call) -> Reset:
    """Clear the acknowledgments; after a stop a person is asked, and for a new limit."""
    done = acknowledge.reset(Budget(call.workspace, actor=call.actor), {}, now=call.now)
    echo(boxes.CLEARED, error=True)
    return done


def only_cleared(done: Reset) -> Reply:
    """The reply of `--reset-alerts` where there is no plan to run and no run to resume."""
    return Reply({"cleared": done["cleared"], "run": ""}, next=["holdfast guard check"])


def cost_limits(
    call: Call,
    max_cost: str | None,
    warn_cost: str | None,
    alert_cost: str | None,
    no_cost_limit: bool,
) -> Limits:
    return limits_in_force(call, limits_of(max_cost, warn_cost, alert_cost, no_cost_limit))
