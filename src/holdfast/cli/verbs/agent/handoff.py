"""holdfast agent handoff"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import post_of
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.fleet.packages import package


@click.command()
@click.argument("agent")
@click.option("--feature", default="", help="Its feature, when it has not begun yet.")
@click.option("--from", "old", default="", help="The crashed agent whose work it takes over.")
@epic_option
@verb
def command(call: Call, agent: str, feature: str, old: str, epic: str | None) -> Reply:
    """The text to paste into an agent's session: who it is, what it owns, where its files are.

    With --from it takes over from a crashed agent; without, it begins at S2.P1, or resumes.
    """
    text = package(post_of(call, epic), agent, feature=feature, old=old)
    return Reply({"agent_id": agent, "text": text}, [safe(line) for line in text.split("\n")])
