"""holdfast agent phase"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.updates import phase


@click.command()
@click.argument("agent")
@click.argument("stage")
@click.option("--next", "steps", multiple=True, help="A step of the new stage; may be repeated.")
@fence_option
@epic_option
@verb
def command(
    call: Call,
    agent: str,
    stage: str,
    steps: tuple[str, ...],
    fence: int | None,
    epic: str | None,
) -> Reply:
    """Write the last checkpoint of a stage and go on to the next one: STAGE is S2.P2 or S2.P3."""
    context = context_for(phase, call, epic, fence)
    return reply(phase(context, {"agent": agent, "stage": stage, "next": steps}))
