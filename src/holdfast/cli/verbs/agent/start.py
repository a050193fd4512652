"""holdfast agent start"""

from __future__ import annotations

from typing import TextIO

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import post_of, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.lives import resume, start
from holdfast.fleet.reports import report
from holdfast.kernel.errors import Usage
from holdfast.protocols.fleet import handoff


@click.command()
@click.argument("agent", required=False)
@click.option("--feature", help="The feature that the agent owns, such as feature_02_team_penalty.")
@click.option(
    "--handoff", "package", type=click.File(), help="A pasted handoff package; - is stdin."
)
@click.option("--transcript", default="", help="The session's transcript, for signs of life.")
@epic_option
@verb
def command(
    call: Call,
    agent: str | None,
    feature: str | None,
    package: TextIO | None,
    transcript: str,
    epic: str | None,
) -> Reply:
    """Begin an agent's life: its first checkpoint, its feature, its message files.

    AGENT is Agent-Primary, Secondary-A, Secondary-B and so on. A pasted handoff package says all of
    it; pasted again after a crash, it resumes.
    """
    said = handoff.parse(package.read() if package is not None else "")
    agent, feature = agent or said["agent"], feature or said["feature"]
    if not agent or not feature:
        raise Usage(
            "An agent begins with its id and its feature.",
            hint="holdfast agent start Secondary-A --feature feature_02_team_penalty",
        )
    post = post_of(call, epic or said["epic"])
    begun_before = post.agent(agent).state["checkpoint"] is not None
    if package is not None and begun_before:
        told = resume(post, agent, transcript=transcript)
    else:
        told = start(post, agent, feature, transcript=transcript)
    report(told)
    return reply(told, next=[f"holdfast agent beat {agent} --step '...'", "holdfast agent list"])
