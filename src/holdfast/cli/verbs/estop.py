"""holdfast estop"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.emergency import stop
from holdfast.kernel import latch
from holdfast.kernel.errors import HoldfastError, Usage


@click.command()
@click.option("--reason", required=True, help="What the agents and the next person are told.")
@verb
def command(call: Call, reason: str) -> Reply:
    """Stop every agent of the workspace: each heartbeat and each hook answers "stop now, checkpoint".

    It holds without the journal, until `holdfast release`. Nothing that runs is killed.
    """
    if not reason.strip():
        raise Usage("A stop needs a reason: the agents are told it.")
    recorded, missed = stop(call.workspace, reason, by=call.actor, now=call.now)
    if missed:
        raise HoldfastError(
            f"The stop does not hold in {', '.join(missed)}: nothing could be written there.",
            hint="It holds in the other worktrees. Make those folders writable, and stop again.",
            kind="stop_incomplete",
        )
    if not recorded:
        warn("The stop holds; its record could not be written.")
    held = latch.read(call.workspace)
    said = held["reason"] if held else reason
    data = {"stopped": True, "reason": said, "by": call.actor, "recorded": recorded}
    line = f"{style('Stopped', 'red', bold=True)}: {safe(said)}"
    return Reply(data, [line], next=["holdfast release"])
