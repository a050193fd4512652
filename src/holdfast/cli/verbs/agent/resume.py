"""holdfast agent resume"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, yes_option
from holdfast.cli.agents import beginning_post, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import resume


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="Its feature, should nothing be known of it any more.")
@click.option("--transcript", default="", help="The session's transcript, for signs of life.")
@yes_option
@epic_option
@verb
def command(
    call: Call, agent: str, feature: str, transcript: str, yes: bool, epic: str | None
) -> Reply:
    """The same agent goes on in a fresh session: what it did, what it read, what comes next."""
    post = beginning_post(call, epic)
    told = resume(post, agent, feature=feature, yes=yes, transcript=transcript)
    return reply(told, next=[f"holdfast agent beat {agent} --step '...'"])
