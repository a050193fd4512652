"""holdfast agent defer"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agents import beginning_post, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import defer


@click.command()
@click.argument("agent")
@yes_option
@epic_option
@verb
def command(call: Call, agent: str, yes: bool, epic: str | None) -> Reply:
    """The feature waits for Wave 2; the agent's file is archived."""
    post = beginning_post(call, epic)
    told = confirmed(call, yes, lambda sure: defer(post, agent, yes=sure))
    return reply(told, next=["holdfast agent list"])
