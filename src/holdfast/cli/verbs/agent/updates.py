"""holdfast agent start, block, unblock, phase, sync, complete: an agent reports on its own work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.agent_reply import context_for, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import epic_option, fence_option, transcript_option, verb
from holdfast.fleet.agents import start
from holdfast.fleet.rules import handoff
from holdfast.fleet.sync import sync
from holdfast.fleet.updates import block, complete, phase, unblock
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
def start_command(
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


@click.command()
@click.argument("agent")
@click.argument("blocker")
@click.option("--recovery", help="How another agent would go on from here.")
@fence_option
@epic_option
@verb
def block_command(
    call: Call, agent: str, blocker: str, recovery: str | None, fence: int | None, epic: str | None
) -> Reply:
    """Report what keeps AGENT from working: status BLOCKED, with the BLOCKER."""
    context = context_for(block, call, epic, fence)
    return reply(block(context, {"agent": agent, "blocker": blocker, "recovery": recovery}))


@click.command()
@click.argument("agent")
@click.argument("blocker", required=False)
@fence_option
@epic_option
@verb
def unblock_command(
    call: Call, agent: str, blocker: str | None, fence: int | None, epic: str | None
) -> Reply:
    """Resolve BLOCKER, given with its exact text; without it, resolve all blockers of AGENT."""
    context = context_for(unblock, call, epic, fence)
    return reply(unblock(context, {"agent": agent, "blocker": blocker}))


@click.command()
@click.argument("agent")
@click.argument("stage")
@click.option("--next", "steps", multiple=True, help="A step of the new stage; repeatable.")
@fence_option
@epic_option
@verb
def phase_command(
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


@click.command()
@click.argument("agent")
@click.argument("point")
@click.option(
    "--wait", is_flag=True, help="Wait until all are there, or the hard limit is reached."
)
@fence_option
@epic_option
@verb
def sync_command(
    call: Call, agent: str, point: str, wait: bool, fence: int | None, epic: str | None
) -> Reply:
    """Wait for the other agents at POINT: S2-S3 (4 h, at most 6 h) or S4-S5 (2 h, at most 3 h).

    The agent writes a checkpoint before the sync point, and one after it once all agents are there.
    Without --wait, call it again later.
    """
    context = context_for(sync, call, epic, fence)
    return reply(sync(context, {"agent": agent, "point": point, "wait": wait}))


@click.command()
@click.argument("agent")
@fence_option
@epic_option
@verb
def complete_command(call: Call, agent: str, fence: int | None, epic: str | None) -> Reply:
    """Report the feature of AGENT as done: status COMPLETE, and a message to the Primary."""
    return reply(complete(context_for(complete, call, epic, fence), {"agent": agent}))
