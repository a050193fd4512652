"""holdfast plan run"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.plan_options import beginning, running
from holdfast.cli.plan_running import clear_alerts, cluster_of, cost_limits, run
from holdfast.cli.terminal import plural, safe, table
from holdfast.kernel import config
from holdfast.plans import check
from holdfast.plans.begin import begin
from holdfast.plans.rules import waves
from holdfast.plans.rules.kind import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plans.rules.model import Plan


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@beginning
@running
@verb
def command(call: Call, paths: tuple[str, ...], **options: Any) -> Reply:
    """Run plans: waves in order, inside a wave the autonomous plans in parallel, those with checkpoints
    one by one afterwards.

    Without a PATH, those of .autopilot/phases. Killed at any instant, `plan resume` goes on where it
    was. Exit code 8 when a person is needed and nobody is there, 9 when one said no, 7 at a stop.
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
    jobs: int | None,
    wait: bool,
    edited: str | None,
    max_cost: str | None,
    warn_cost: str | None,
    alert_cost: str | None,
    no_cost_limit: bool,
    reset_alerts: bool,
    quiet: bool,
    on: str | None,
    tls_ca: str,
    tls_cert: str,
    tls_key: str,
) -> Reply:
    """Check the plans, write the run down, and run it."""
    settings = config.load(call.workspace, call.workspace.journal)
    plans = checked(call, paths, skip_validation=skip_validation)
    if dry_run:
        return order_of(plans)
    limits = cost_limits(call, max_cost, warn_cost, alert_cost, no_cost_limit)
    if reset_alerts:
        clear_alerts(call)
    with cluster_of(call, on, tls_ca, tls_cert, tls_key) as link:
        id = begin(
            call.writer,
            plans,
            {
                "jobs": jobs or settings["plan.jobs"] or 1,
                "tries": settings["plan.tries"] or 1,
                "worktrees": worktrees,
                "phase": phase,
                "task": task,
            },
            actor=call.actor,
            again=again,
        )
        return run(
            *(call, id),
            jobs=jobs,
            wait=wait,
            edited=edited,
            limits=limits,
            quiet=quiet,
            link=link,
        )


def checked(call: Call, paths: Sequence[str], *, skip_validation: bool = False) -> list[Plan]:
    return check.checked(call.workspace, paths, call.folder, warn, skip_validation=skip_validation)


def order_of(plans: Sequence[Plan]) -> Reply:
    """What would be run, in which order."""
    placed = waves.phases(waves.Order(plans).plans)
    rows = [
        [
            f"phase {safe(phase)}, wave {number}",
            safe(plan["plan"]),
            "parallel" if kind_of(plan)["autonomous"] else "one by one",
            _size(plan),
            safe(plan["path"]),
        ]
        for phase, each in placed
        for number, wave in enumerate(each, 1)
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
