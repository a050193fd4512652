"""holdfast agent defer"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import defer


@click.command()
@click.argument("agent")
@yes_option
@epic_option
@verb
def command(call: Call, agent: str, yes: bool, epic: str | None) -> Reply:
    """Defer the feature of AGENT to Wave 2, and archive the agent's file."""
    context = context_for(defer, call, epic)
    return reply(confirmed(call, yes, lambda sure: defer(context, {"agent": agent, "yes": sure})))
