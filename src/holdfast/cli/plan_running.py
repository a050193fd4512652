"""Running a run from the command line: signals, the watch, and what is said at the end."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from holdfast.budgets import acknowledge
from holdfast.budgets.check import Budget
from holdfast.budgets.rules import boxes
from holdfast.cli.frame import INTERRUPTED, Call, Reply
from holdfast.cli.plan_attendants import AtTerminal, Patient, is_person_here
from holdfast.cli.plan_options import limits_of
from holdfast.cli.plan_screen import summary, ways_on
from holdfast.cli.plan_watch import Watch
from holdfast.cli.terminal import echo
from holdfast.kernel import config
from holdfast.kernel.errors import NotAllowed
from holdfast.plans import lookup
from holdfast.plans.cluster.address import Certificates
from holdfast.plans.executor_choice import cluster, executor_of, slots
from holdfast.plans.interrupts import Interrupts
from holdfast.plans.news import Halted, Nobody
from holdfast.plans.rules.ready import waiting_gates
from holdfast.plans.run_folder import Place
from holdfast.plans.runner import Runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.budgets.rules.thresholds import Limits
    from holdfast.plans.cluster.link import Link
    from holdfast.plans.news import Attendant
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
    place = Place(call.workspace, id)
    writer = call.writer
    watch = Watch(as_json=call.as_json, quiet=quiet)
    settings = config.load(call.workspace, call.workspace.journal)
    state = lookup.read(call.workspace, id)
    executor = executor_of(link, writer, place, state, settings)
    interrupts = Interrupts()

    def at_once() -> None:
        watch.end()
        executor.end(now=True)

    interrupts.listen(at_once)
    attendant: Attendant = Patient(call.workspace) if wait else Nobody()
    if is_person_here() and not call.as_json:
        attendant = AtTerminal(call.workspace, watch)
    runner = Runner(
        *(writer, place, executor),
        actor=call.actor,
        tell=watch,
        attendant=attendant,
        interrupts=interrupts,
        jobs=jobs or slots(link),
        limits=limits,
        edited=edited or "",
    )
    try:
        state = runner.to_the_end()
    except Halted as halted:
        watch.end()
        return _stands_still(runner.state, halted, runner.budget.alerts)
    except KeyboardInterrupt:
        watch.end()
        return Reply({"run": id, "ended": "interrupted"}, exit_code=INTERRUPTED)
    finally:
        watch.end()
    counts = lookup.count(state)
    data: dict[str, Any] = {"run": id, "ended": "done", **counts, "cost": runner.budget.cost}
    return Reply(data, summary(state), next=[f"holdfast plan show {id}"])


@contextmanager
def cluster_of(call: Call, on: str | None, ca: str, cert: str, key: str) -> Iterator[Link | None]:
    """The cluster that the flags or the settings name, if they name one."""
    settings = config.load(call.workspace, call.workspace.journal)
    chosen = settings["plan.on"] if on is None else on
    with cluster(chosen, Certificates(ca, cert, key), alone=True) as link:
        yield link


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
