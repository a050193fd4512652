"""holdfast agent unblock"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.updates import unblock


@click.command()
@click.argument("agent")
@click.argument("blocker", required=False)
@fence_option
@epic_option
@verb
def command(
    call: Call, agent: str, blocker: str | None, fence: int | None, epic: str | None
) -> Reply:
    """Resolve BLOCKER, given with its exact text; without it, resolve all blockers of AGENT."""
    context = context_for(unblock, call, epic, fence)
    return reply(unblock(context, {"agent": agent, "blocker": blocker}))
