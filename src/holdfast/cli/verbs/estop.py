"""holdfast estop"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.emergency import stop


@click.command()
@click.option("--reason", required=True, help="What the agents and the next person are told.")
@verb
def command(call: Call, reason: str) -> Reply:
    """Stop every agent of the workspace: each heartbeat and each hook answers "stop now, checkpoint".

    It holds without the journal, until `holdfast release`. Nothing that runs is killed.
    """
    recorded = stop(call.workspace, reason, by=call.actor, now=call.now)
    if not recorded:
        warn("The stop holds; its record could not be written.")
    data = {"stopped": True, "reason": reason, "by": call.actor, "recorded": recorded}
    line = f"{style('Stopped', 'red', bold=True)}: {safe(reason)}"
    return Reply(data, [line], next=["holdfast release"])
