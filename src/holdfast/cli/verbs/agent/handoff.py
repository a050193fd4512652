"""holdfast agent handoff"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agent_reply import context_for
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.fleet.recovery import handoff


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="The agent's feature, if it has not started yet.")
@click.option("--from", "old", default="", help="The crashed agent whose work AGENT takes over.")
@epic_option
@verb
def command(call: Call, agent: str, feature: str, old: str, epic: str | None) -> Reply:
    """Print the text to paste into the session of AGENT: its id, its feature, its files.

    With --from, AGENT takes over from a crashed agent. Otherwise it starts at S2.P1, or resumes.
    """
    context = context_for(handoff, call, epic)
    text = handoff(context, {"agent": agent, "feature": feature, "taken_from": old})
    return Reply({"agent_id": agent, "text": text}, [safe(line) for line in text.split("\n")])
