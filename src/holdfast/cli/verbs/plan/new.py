"""holdfast plan new"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.plans.template import NewPlanRequest, write_plan


@click.command()
@click.argument("name", required=False, default="", metavar="[PHASE/PLAN]")
@click.option("--title", default="", metavar="TEXT", help="Heading of the plan.")
@click.option("--ui", is_flag=True, help="The plan changes what people see, so a person looks.")
@click.option("--dry-run", is_flag=True, help="Print the plan; write nothing.")
@verb
def command(call: Call, name: str, title: str, ui: bool, dry_run: bool) -> Reply:
    """Write a plan to begin with into .autopilot/phases. It runs as it is.

    Without PHASE/PLAN, the plan is the next one of the latest phase.
    """
    request = NewPlanRequest(name=name, title=title, ui=ui, dry_run=dry_run)
    made = write_plan(call.workspace, request)
    data = {**made, "dry_run": dry_run}
    if dry_run:
        return Reply(data, made["text"].splitlines())
    path = made["path"]
    next = [f"holdfast plan lint {path}", f"holdfast plan run {path}"]
    return Reply(data, [f"Wrote {safe(path)}. Edit it, then: holdfast plan run"], next=next)
