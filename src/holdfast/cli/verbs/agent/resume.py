"""holdfast agent resume"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, transcript_option, yes_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import resume


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="The agent's feature, if no checkpoint names it.")
@transcript_option
@yes_option
@epic_option
@verb
def command(
    call: Call, agent: str, feature: str, transcript: str, yes: bool, epic: str | None
) -> Reply:
    """Go on as AGENT in a fresh session, and print what it did, what it changed, and what comes next."""
    return reply(
        resume(
            context_for(resume, call, epic),
            {"agent": agent, "feature": feature, "transcript": transcript, "yes": yes},
        )
    )
