"""holdfast agent block"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agents import carried_out, post_of, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import update


@click.command()
@click.argument("agent")
@click.argument("blocker")
@click.option("--recovery", help="How somebody else would go on from here.")
@fence_option
@epic_option
@verb
def command(
    call: Call, agent: str, blocker: str, recovery: str | None, fence: int | None, epic: str | None
) -> Reply:
    """Something keeps the agent from working: status BLOCKED, with the blocker."""
    given = {"recovery_instructions": recovery} if recovery is not None else {}
    post = post_of(call, epic, fence)
    order = {"do": "block", "blocker": blocker, "set": given}
    return reply(
        carried_out(post, lambda: update(post, agent, order)),
        next=[f"holdfast agent send Agent-Primary --from {agent} --subject 'ESCALATION - ...'"],
    )
