"""holdfast agent absorb"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import absorb


@click.command()
@click.argument("agent")
@yes_option
@epic_option
@verb
def command(call: Call, agent: str, yes: bool, epic: str | None) -> Reply:
    """Give the feature of AGENT to the Primary, and archive the agent's file."""
    context = context_for(absorb, call, epic)
    return reply(confirmed(call, yes, lambda sure: absorb(context, {"agent": agent, "yes": sure})))
