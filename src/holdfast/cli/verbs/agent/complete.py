"""holdfast agent complete"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agents import carried_out, post_of, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import complete


@click.command()
@click.argument("agent")
@fence_option
@epic_option
@verb
def command(call: Call, agent: str, fence: int | None, epic: str | None) -> Reply:
    """The feature is done: status COMPLETE, ready for the sync point, the Primary is told."""
    post = post_of(call, epic, fence)
    told = carried_out(post, lambda: complete(post, agent))
    return reply(told, next=[f"holdfast agent sync {agent} S2-S3"])
