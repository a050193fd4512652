"""holdfast plan resume"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.plan_options import running
from holdfast.cli.plan_running import clear_alerts, cluster_of, cost_limits, run
from holdfast.cli.plan_screen import summary
from holdfast.plans import lookup


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@running
@verb
def command(call: Call, id: str, **options: Any) -> Reply:
    """Go on with a run exactly where it stopped; without a RUN, with the newest that is not finished.

    Tasks that were at work begin again, tasks that had failed are tried anew, and a checkpoint with
    issues is presented again. While a stop holds, it is refused (exit code 7).
    """
    return go_on(call, id, **options)


def go_on(
    call: Call,
    id: str,
    *,
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
    state = lookup.find_run(call.workspace, id)
    if reset_alerts:
        clear_alerts(call)
    if state["status"] == "done":
        return Reply({"run": state["id"], "ended": "done", **lookup.count(state)}, summary(state))
    limits = cost_limits(call, max_cost, warn_cost, alert_cost, no_cost_limit)
    with cluster_of(call, on, tls_ca, tls_cert, tls_key) as link:
        return run(
            *(call, state["id"]),
            jobs=jobs,
            wait=wait,
            edited=edited,
            limits=limits,
            quiet=quiet,
            link=link,
        )
