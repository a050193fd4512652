"""holdfast agent complete"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.updates import complete


@click.command()
@click.argument("agent")
@fence_option
@epic_option
@verb
def command(call: Call, agent: str, fence: int | None, epic: str | None) -> Reply:
    """Report the feature of AGENT as done: status COMPLETE, and a message to the Primary."""
    return reply(complete(context_for(complete, call, epic, fence), {"agent": agent}))
