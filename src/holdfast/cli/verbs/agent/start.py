"""holdfast agent start"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.agent_options import epic_option, transcript_option
from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.agents import start
from holdfast.fleet.rules import handoff
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.fleet.agents import StartAgentRequest


@click.command()
@click.argument("agent", required=False)
@click.option("--feature", help="The feature that the agent owns, such as feature_02_team_penalty.")
@click.option(
    "--handoff", "package", metavar="FILE", help="A file with a handoff package; - is stdin."
)
@transcript_option
@click.option("--from", "archive", metavar="FILE", help="Start from an archived checkpoint.")
@epic_option
@verb
def command(
    call: Call,
    agent: str | None,
    feature: str | None,
    package: str | None,
    transcript: str,
    archive: str | None,
    epic: str | None,
) -> Reply:
    """Start AGENT: write its first checkpoint and its message files, and claim its feature.

    AGENT is Agent-Primary, Secondary-A, Secondary-B and so on. A handoff package names the agent and
    its feature; pasted again after a crash, it resumes the agent.
    """
    request: StartAgentRequest = {
        "agent": agent or "",
        "feature": feature or "",
        "transcript": transcript,
        "archive": archive or "",
    }
    if package is not None:
        request["package"] = handoff.parse(_read(package))
        epic = epic or request["package"]["epic"]
    return reply(start(context_for(start, call, epic), request))


def _read(source: str) -> str:
    """A package as some editors save it: with a byte order mark, or in UTF-16."""
    if source == "-":
        content = sys.stdin.buffer.read()
    else:
        try:
            content = Path(source).read_bytes()
        except OSError as error:
            raise Usage(f"{source} cannot be read: {error.strerror}.") from None
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(encoding, "replace")
