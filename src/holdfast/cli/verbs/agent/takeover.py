"""holdfast agent takeover"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agents import beginning_post, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import takeover


@click.command()
@click.argument("old")
@click.option("--by", "new", required=True, help="Who goes on; the same id is allowed.")
@yes_option
@epic_option
@verb
def command(call: Call, old: str, new: str, yes: bool, epic: str | None) -> Reply:
    """Another agent goes on where OLD stopped: its file is archived, its life can write no more."""
    post = beginning_post(call, epic)
    told = confirmed(call, yes, lambda sure: takeover(post, old, new, yes=sure))
    return reply(told, next=[f"holdfast agent handoff {new} --from {old}"])
