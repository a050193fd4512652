"""holdfast agent restart"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import restart


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="The agent's feature, if its file does not name it.")
@yes_option
@epic_option
@verb
def command(call: Call, agent: str, feature: str, yes: bool, epic: str | None) -> Reply:
    """Start AGENT from scratch, as the last resort.

    This is for a broken checkpoint, or for less than 30 minutes of work.
    """
    context = context_for(restart, call, epic)
    return reply(
        confirmed(
            *(call, yes),
            lambda sure: restart(context, {"agent": agent, "feature": feature, "yes": sure}),
        )
    )
