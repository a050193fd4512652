"""holdfast agent list"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agent_reply import context_for
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.roster_screen import fleet_screen, other_epics
from holdfast.fleet.roster import list_agents


@click.command("list")
@epic_option
@verb
def command(call: Call, epic: str | None) -> Reply:
    """List all agents: who is active, slow, waiting, blocked, dead or done, and what to do next."""
    context = context_for(list_agents, call, epic)
    entries = list_agents(context)
    lines = fleet_screen(context, entries)
    next = [entry["next"] for entry in entries if entry["next"]]
    if not entries:
        next = other_epics(context)
    return Reply({"epic": context.epic.root, "agents": entries}, lines, next=next)
