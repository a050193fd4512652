"""holdfast cockpit"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.plan_options import running
from holdfast.cli.plan_running import clear_alerts, only_cleared
from holdfast.cli.plan_screen import screen
from holdfast.cli.verbs.plan.resume import go_on
from holdfast.plans import lookup
from holdfast.plans.run_stream import RunFolder
from holdfast.processes.lease import is_held


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@running
@verb
def command(call: Call, id: str, **options: Any) -> Reply:
    """Continue a run, as `plan resume` does. For users of autopilot.

    While the run is executed by another process, show where it is and start no second one.
    --reset-alerts clears the acknowledgments in both cases, and when there is no run, too.
    """
    if options["reset_alerts"]:
        cleared = clear_alerts(call)
        options["reset_alerts"] = False
        if not id and not any(lookup.every(call.workspace)):
            return only_cleared(cleared)
    state = lookup.find_run(call.workspace, id)
    runner = is_held(RunFolder(call.workspace, state["id"]).lease)
    if not runner:
        return go_on(call, id, **options)
    data = {"run": state["id"], "ended": "", "runner": runner, **lookup.count(state)}
    return Reply(data, screen(state, now=call.now))
