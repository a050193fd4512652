"""holdfast estop"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.estop.stop import stop
from holdfast.kernel import latch
from holdfast.kernel.errors import HoldfastError

UNSAID = "Emergency stop"


@click.command()
@click.option(
    "--reason", default=UNSAID, help=f"What the agents and the next person are told. [{UNSAID}]"
)
@verb
def command(call: Call, reason: str) -> Reply:
    """Stop every agent of the workspace: each heartbeat and each hook answers "stop now, checkpoint".

    It holds without the journal, until `holdfast release`. Nothing that runs is killed, except the
    programs of `loop run` and `plan run`.
    """
    # Whoever stops everything has no time to find words, and none to read what was wrong with them.
    reason = reason if reason.strip() else UNSAID
    recorded, missed = stop(call.workspace, reason, by=call.actor, now=call.now)
    if missed:
        raise HoldfastError(
            f"The stop does not hold in {', '.join(missed)}: nothing could be written there.",
            hint="It holds in the other worktrees. Make those folders writable, and stop again.",
            kind="stop_incomplete",
        )
    if not recorded and call.workspace.wants_forwarder:
        warn(
            "The stop holds on this machine. The server is away: other machines hear of it when it "
            "is back."
        )
    elif not recorded:
        warn("The stop holds; its record could not be written.")
    held = latch.read(call.workspace)
    said = held["reason"] if held else reason
    data = {"stopped": True, "reason": said, "by": call.actor, "recorded": recorded}
    line = f"{style('Stopped', 'red', bold=True)}: {safe(said)}"
    return Reply(data, [line], next=["holdfast release"])
