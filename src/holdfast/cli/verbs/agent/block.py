"""holdfast agent block"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.updates import block


@click.command()
@click.argument("agent")
@click.argument("blocker")
@click.option("--recovery", help="How another agent would go on from here.")
@fence_option
@epic_option
@verb
def command(
    call: Call, agent: str, blocker: str, recovery: str | None, fence: int | None, epic: str | None
) -> Reply:
    """Report what keeps AGENT from working: status BLOCKED, with the BLOCKER."""
    context = context_for(block, call, epic, fence)
    return reply(block(context, {"agent": agent, "blocker": blocker, "recovery": recovery}))
