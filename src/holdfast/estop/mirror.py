"""The emergency stop of a server, brought to this machine's latch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.estop.rules.stop import STREAM
from holdfast.estop.stop import holding
from holdfast.kernel import clock, latch

if TYPE_CHECKING:
    from holdfast.estop.rules.stop import StopState
    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace


def follow(workspace: Workspace, state: StopState, server: Journal) -> None:
    """Set or lift the latch as the server's stream says."""
    held, stopped = latch.read(workspace), holding(workspace, state)
    if stopped is not None:
        if held is None:
            latch.engage(workspace, stopped["reason"], by=stopped["by"], now=clock.now())
        return
    # Only the stop that was lifted: one that the server never heard of holds on.
    lifted = server.latest(stream=STREAM, kind="stopped", limit=1)
    body = lifted[0]["body"] if lifted else None
    if held and body and (held["reason"], held["by"]) == (body["reason"], body["by"]):
        latch.release(workspace)
