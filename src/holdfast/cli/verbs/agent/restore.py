"""holdfast agent restore"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.updates import restore


@click.command()
@click.argument("agent")
@epic_option
@verb
def command(call: Call, agent: str, epic: str | None) -> Reply:
    """Replace the checkpoint of AGENT by its newest valid backup."""
    return reply(restore(context_for(restore, call, epic), {"agent": agent}))
