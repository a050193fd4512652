"""holdfast agent sync"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.sync import sync


@click.command()
@click.argument("agent")
@click.argument("point")
@click.option(
    "--wait", is_flag=True, help="Wait until all are there, or the hard limit is reached."
)
@fence_option
@epic_option
@verb
def command(
    call: Call, agent: str, point: str, wait: bool, fence: int | None, epic: str | None
) -> Reply:
    """Wait for the other agents at POINT: S2-S3 (4 h, at most 6 h) or S4-S5 (2 h, at most 3 h).

    The agent writes a checkpoint before the sync point, and one after it once all agents are there.
    Without --wait, call it again later.
    """
    context = context_for(sync, call, epic, fence)
    return reply(sync(context, {"agent": agent, "point": point, "wait": wait}))
