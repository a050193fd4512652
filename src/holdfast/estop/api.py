"""The emergency stop for programs: `workspace.stop("too expensive")`."""

from __future__ import annotations

from holdfast.estop import operations
from holdfast.estop.operations import StopResult
from holdfast.kernel import clock
from holdfast.offers import Offers


def stop(opened: Offers, reason: str = "") -> StopResult:
    """Stop every agent of the workspace, until `release`."""
    return operations.stop(opened.place, reason, by=opened.actor, now=clock.now())


def release(opened: Offers, reason: str = "") -> bool:
    """Lift the emergency stop. Return whether there was one. NotAllowed unless a person sits at the
    terminal of this program and types back a word."""
    return operations.release(opened.place, reason, by=opened.actor, now=clock.now())
