"""holdfast agent sync"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option, fence_option
from holdfast.cli.agents import post_of, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.sync import arrive, refuse_overdue, wait
from holdfast.kernel.clock import MINUTE


@click.command()
@click.argument("agent")
@click.argument("point")
@click.option("--wait", "waits", is_flag=True, help="Until all are there, or the hard limit.")
@fence_option
@epic_option
@verb
def command(
    call: Call, agent: str, point: str, waits: bool, fence: int | None, epic: str | None
) -> Reply:
    """Wait for the others at a sync point: S2-S3 (4 h, at most 6 h) or S4-S5 (2 h, at most 3 h).

    A checkpoint before it, and one after it once all are there. Without --wait, call it again later.
    """
    told, found = (wait if waits else arrive)(post_of(call, epic, fence), agent, point)
    if found["state"] == "WAITING":
        told.lines.append(f"WAITING at {point} for {', '.join(found['missing'])}")
        if found["soft"]:
            minutes = found["waited"] // MINUTE
            told.warnings.append(f"Waiting for {minutes} minutes: the soft limit has passed.")
        refuse_overdue(point, found)
    again = f"holdfast agent sync {agent} {point}"
    return reply(told, next=[again] if found["state"] == "WAITING" else [], sync=found)
