"""holdfast plan resume"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.plan_options import running
from holdfast.cli.plan_running import carry_out, clear_alerts, cost_limits, execution_of
from holdfast.cli.plan_screen import summary
from holdfast.plans import lookup
from holdfast.plans.operations import PlanResumeRequest, resume


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@running
@verb
def command(call: Call, id: str, **options: Any) -> Reply:
    """Continue RUN exactly where it stopped. Without RUN, continues the newest unfinished run.

    Interrupted tasks start again, failed tasks run again, and a checkpoint with issues is presented again.
    Exits with 7 while a stop holds.
    """
    return go_on(call, id, **options)


def go_on(
    call: Call,
    id: str,
    *,
    wait: bool,
    max_cost: str | None,
    warn_cost: str | None,
    alert_cost: str | None,
    no_cost_limit: bool,
    reset_alerts: bool,
    quiet: bool,
    **options: Any,
) -> Reply:
    """Resume a run, with what the options say."""
    state = lookup.find_run(call.workspace, id)
    if reset_alerts:
        clear_alerts(call)
    if state["status"] == "done":
        return Reply({"run": state["id"], "ended": "done", **lookup.count(state)}, summary(state))
    limits = cost_limits(call, max_cost, warn_cost, alert_cost, no_cost_limit)
    request = PlanResumeRequest(run=state["id"], execution=execution_of(limits, **options))
    return carry_out(call, resume, request, wait=wait, quiet=quiet)
