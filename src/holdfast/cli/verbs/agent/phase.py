"""holdfast agent phase"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agents import carried_out, post_of, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import update


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
    """The last checkpoint of a stage, as the transition to the next: STAGE is S2.P2 or S2.P3."""
    post = post_of(call, epic, fence)
    order = {"do": "phase", "stage": stage, "next_steps": list(steps)}
    told = carried_out(post, lambda: update(post, agent, order))
    told.lines.append(f"Proceed to {stage}")
    return reply(told, next=[f"holdfast agent guide {stage}"])
