"""holdfast agent restore"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import beginning_post, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import Told, restore_newest
from holdfast.kernel.errors import HoldfastError


@click.command()
@click.argument("agent")
@epic_option
@verb
def command(call: Call, agent: str, epic: str | None) -> Reply:
    """Bring the newest valid backup back into the checkpoint's place."""
    told = Told(beginning_post(call, epic).agent(agent))
    if not restore_newest(told):
        raise HoldfastError(
            "ERROR: No backup found",
            hint=f"A fresh one: holdfast agent restart {agent}",
            kind="no_backup",
        )
    return reply(told)
