"""holdfast agent unblock"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agents import carried_out, post_of, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import update


@click.command()
@click.argument("agent")
@click.argument("blocker", required=False)
@fence_option
@epic_option
@verb
def command(
    call: Call, agent: str, blocker: str | None, fence: int | None, epic: str | None
) -> Reply:
    """A blocker is resolved; without its text, all of them are."""
    post = post_of(call, epic, fence)
    order = {"do": "unblock", **({"blocker": blocker} if blocker else {})}
    return reply(carried_out(post, lambda: update(post, agent, order)))
