"""holdfast takeoff, cockpit: the names that users of autopilot know."""

from __future__ import annotations

import sys
from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.plan_attendants import is_person_here
from holdfast.cli.plan_screen import screen
from holdfast.cli.terminal import echo, style
from holdfast.cli.verbs.plan_run import (
    beginning,
    checked,
    clear_alerts,
    go_on,
    launch,
    only_cleared,
    order_of,
    running,
)
from holdfast.kernel.errors import Declined, Waiting
from holdfast.plans import runs
from holdfast.plans.discovery import has_plans

APPROVED = "approved"


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("-y", "--yes", is_flag=True, help="Run without asking for clearance.")
@click.option("--validate-only", is_flag=True, help="Check the plans; run nothing.")
@beginning
@running
@verb
def takeoff_command(
    call: Call, paths: tuple[str, ...], yes: bool, validate_only: bool, **options: Any
) -> Reply:
    """Run plans, as `plan run` does. For users of autopilot.

    Without a PATH it takes .autopilot/phases/*/ROUTE.md. It shows what it would run and waits for your
    clearance, unless you give -y. --reset-alerts works without any plan, too.
    """
    if options["reset_alerts"] and not options["dry_run"]:
        cleared = clear_alerts(call)
        options["reset_alerts"] = False
        if not has_plans(call.workspace, paths):
            return only_cleared(cleared)
    if validate_only:
        plans = checked(call, paths)
        return Reply({"plans": [plan["id"] for plan in plans], "valid": True}, ["Cleared."])
    if not yes and not options["dry_run"]:
        _clearance(call, paths, skip_validation=options["skip_validation"])
    return launch(call, paths, **options)


def _clearance(call: Call, paths: tuple[str, ...], *, skip_validation: bool) -> None:
    plans = checked(call, paths, skip_validation=skip_validation)
    if call.as_json or not is_person_here():
        raise Waiting(
            "There is no person at a terminal to give clearance.", hint="Give it with -y."
        )
    for line in order_of(plans).lines:
        echo(line, error=True)
    echo(style(f"Reply '{APPROVED}' to commence takeoff.", bold=True), error=True)
    if sys.stdin.readline().strip().casefold() != APPROVED:
        raise Declined("No clearance was given; nothing was run.")


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@running
@verb
def cockpit_command(call: Call, id: str, **options: Any) -> Reply:
    """Continue a run, as `plan resume` does. For users of autopilot.

    While the run is executed by another process, show where it is and start no second one.
    --reset-alerts clears the acknowledgments in both cases, and when there is no run, too.
    """
    if options["reset_alerts"]:
        cleared = clear_alerts(call)
        options["reset_alerts"] = False
        if not id and not any(runs.every(call.workspace)):
            return only_cleared(cleared)
    state = runs.find_run(call.workspace, id)
    runner = runs.runner_of(call.workspace, state)
    if not runner:
        return go_on(call, id, **options)
    data = {"run": state["id"], "ended": "", "runner": runner, **runs.count(state)}
    return Reply(data, screen(state, now=call.now))
