"""holdfast agent restart"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agents import beginning_post, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import restart


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="Its feature, should its file not tell any more.")
@yes_option
@epic_option
@verb
def command(call: Call, agent: str, feature: str, yes: bool, epic: str | None) -> Reply:
    """From scratch, the last resort: for a broken checkpoint, or less than 30 minutes of work."""
    post = beginning_post(call, epic)
    told = confirmed(call, yes, lambda sure: restart(post, agent, feature=feature, yes=sure))
    return reply(told, next=[f"holdfast agent handoff {agent}"])
