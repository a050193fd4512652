"""holdfast agent takeover"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import takeover


@click.command()
@click.argument("old")
@click.option("--by", "new", required=True, help="The agent that goes on; may be the same id.")
@yes_option
@epic_option
@verb
def command(call: Call, old: str, new: str, yes: bool, epic: str | None) -> Reply:
    """Let another agent go on where OLD stopped.

    The file of OLD is archived, and its life can write no more.
    """
    context = context_for(takeover, call, epic)
    return reply(
        confirmed(
            *(call, yes), lambda sure: takeover(context, {"agent": old, "by": new, "yes": sure})
        )
    )
