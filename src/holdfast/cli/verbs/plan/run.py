"""holdfast plan run"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.plan_options import beginning, running
from holdfast.cli.plan_running import carry_out, clear_alerts, cost_limits, execution_of
from holdfast.cli.terminal import plural, safe, table
from holdfast.plans.begin import check_plans
from holdfast.plans.operations import RunRequest, run
from holdfast.plans.rules import waves
from holdfast.plans.rules.kind import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plans.rules.model import Plan


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@beginning
@running
@verb
def command(call: Call, paths: tuple[str, ...], **options: Any) -> Reply:
    """Run the plans of PATH: waves in order; inside a wave, autonomous plans in parallel, then plans with
    checkpoints one by one.

    Without PATH, runs the plans of .autopilot/phases. After a kill, `plan resume` continues the run. Exit
    codes: 8 a person is needed and none is there; 9 a person declined; 7 a stop holds.
    """
    return launch(call, paths, **options)


def launch(
    call: Call,
    paths: Sequence[str],
    *,
    phase: str,
    task: str,
    worktrees: bool,
    again: bool,
    skip_validation: bool,
    dry_run: bool,
    wait: bool,
    max_cost: str | None,
    warn_cost: str | None,
    alert_cost: str | None,
    no_cost_limit: bool,
    reset_alerts: bool,
    quiet: bool,
    **options: Any,
) -> Reply:
    """Check the plans, and run them."""
    plans = checked(call, paths, skip_validation=skip_validation)
    if dry_run:
        return order_of(plans)
    limits = cost_limits(call, max_cost, warn_cost, alert_cost, no_cost_limit)
    if reset_alerts:
        clear_alerts(call)
    request = RunRequest(
        plans=plans,
        phase=phase,
        task=task,
        worktrees=worktrees,
        again=again,
        execution=execution_of(limits, **options),
    )
    return carry_out(call, run, request, wait=wait, quiet=quiet)


def checked(call: Call, paths: Sequence[str], *, skip_validation: bool = False) -> list[Plan]:
    return check_plans(call.workspace, paths, call.folder, warn, skip_validation=skip_validation)


def order_of(plans: Sequence[Plan]) -> Reply:
    """What would be run, in which order."""
    placed = waves.phases(waves.WaveOrder(plans).plans)
    rows = [
        [
            f"phase {safe(phase)}, wave {plan['wave']}",
            safe(plan["plan"]),
            "parallel" if kind_of(plan)["autonomous"] else "one by one",
            _size(plan),
            safe(plan["path"]),
        ]
        for phase, each in placed
        for wave in each
        for plan in wave
    ]
    data = [
        {"phase": phase, "waves": [[plan["id"] for plan in wave] for wave in each]}
        for phase, each in placed
    ]
    return Reply({"phases": data, "dry_run": True}, table(rows))


def _size(plan: Plan) -> str:
    asked = sum(task["gate"] is not None for task in plan["tasks"])
    tasks = plural(len(plan["tasks"]) - asked, "task")
    return f"{tasks}, {plural(asked, 'checkpoint')}" if asked else tasks
