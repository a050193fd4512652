"""holdfast agent start"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import beginning_post, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import resume, start
from holdfast.fleet.rules import handoff
from holdfast.fleet.rules.checkpoint import parse
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.views.files import Unreadable, read_file, text_of


@click.command()
@click.argument("agent", required=False)
@click.option("--feature", help="The feature that the agent owns, such as feature_02_team_penalty.")
@click.option(
    "--handoff", "package", type=click.File("rb"), help="A pasted handoff package; - is stdin."
)
@click.option("--transcript", default="", help="The session's transcript, for signs of life.")
@click.option("--from", "archive", metavar="FILE", help="Go on from an archived checkpoint.")
@epic_option
@verb
def command(
    call: Call,
    agent: str | None,
    feature: str | None,
    package: BinaryIO | None,
    transcript: str,
    archive: str | None,
    epic: str | None,
) -> Reply:
    """Begin an agent's life: its first checkpoint, its feature, its message files.

    AGENT is Agent-Primary, Secondary-A, Secondary-B and so on. A pasted handoff package says all of
    it; pasted again after a crash, it resumes.
    """
    said = handoff.parse(_text_of(package.read()) if package is not None else "")
    for names, given in ((said["agent"], agent), (said["feature"], feature)):
        if given and names and given != names:
            raise Usage(f"The package is for {names}, not for {given}.")
    agent, feature = agent or said["agent"], feature or said["feature"]
    if not agent or not feature:
        raise Usage(
            "An agent begins with its id and its feature.",
            hint="holdfast agent start Secondary-A --feature feature_02_team_penalty",
        )
    post = beginning_post(call, epic or said["epic"])
    begun_before = post.agent(agent).state["checkpoint"] is not None
    if package is not None and begun_before:
        told = resume(post, agent, transcript=transcript)
    else:
        saved = _archived(call, archive) if archive else None
        told = start(post, agent, feature, transcript=transcript, saved=saved)
    return reply(told, next=[f"holdfast agent beat {agent} --step '...'", "holdfast agent list"])


def _text_of(content: bytes) -> str:
    """A package as some editors save it: with a mark in front, or in UTF-16."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(encoding, "replace")


def _archived(call: Call, path: str) -> dict[str, Any]:
    try:
        return parse(text_of(read_file(os.path.join(call.folder, path))[1]))
    except (OSError, Unreadable, Unparsable) as error:
        raise NotFound(
            f"{path} is no archived checkpoint: {error}.", hint="agent_checkpoints/*_crashed_*.json"
        ) from None
