"""Stop every agent of a workspace at once, and let them go on."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict

from holdfast.estop import stop as estop
from holdfast.estop.stop import LIFT
from holdfast.kernel import clock, latch
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.redact import Redactor
from holdfast.kernel.signatures import sign, text_of
from holdfast.kernel.stops import refuse_stopped
from holdfast.people import person as people
from holdfast.people.removed_stops import set_again

if TYPE_CHECKING:
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace


class StopResult(TypedDict):
    """A stop that holds. `warning` says what is wrong with its record."""

    reason: str
    recorded: bool
    warning: str


DEFAULT_REASON = "Emergency stop"


def stop(workspace: Workspace, reason: str = "", *, by: str, now: int) -> StopResult:
    """Stop every agent. An empty reason is accepted: a person in an emergency has no time for one."""
    recorded, missed = estop.stop(workspace, reason.strip() or DEFAULT_REASON, by=by, now=now)
    if missed:
        raise HoldfastError(
            f"The stop does not hold in {', '.join(missed)}: nothing could be written there.",
            hint="It holds in the other worktrees. Make those folders writable, and stop again.",
            kind="stop_incomplete",
        )
    warning = ""
    if not recorded and workspace.wants_forwarder:
        warning = (
            "The stop holds on this machine. The server is away: other machines hear of it when it "
            "is back."
        )
    elif not recorded:
        warning = "The stop holds; its record could not be written."
    held = latch.read(workspace)
    return {"reason": held["reason"] if held else reason, "recorded": recorded, "warning": warning}


def release(
    workspace: Workspace, reason: str = "", *, by: str, now: int, person: Person | None = None
) -> bool:
    """Lift the emergency stop, as a person; whether there was one. A budget's stop that it hid holds
    again. Without a `person`, the one at the terminal of this process is asked."""
    held, known = estop.refuse_budget(workspace), estop.is_recorded(workspace)
    if held is None and known is None:
        return False
    stopped = held["reason"] if held is not None else known["reason"] if known else ""
    person = people.require(workspace, LIFT, [f"Stopped: {stopped}"], now=now, person=person)
    reason = Redactor().text(reason)
    if known is not None:
        subject = {"reason": known["reason"], "by": known["by"]}
        said = {"reason": reason}
        signed = text_of(LIFT, subject, said, f"Stopped: {stopped}")
        person = sign(workspace, person, signed, command="holdfast release")
    lifted = estop.release(workspace, reason, person=person, now=clock.parse(person["at"]))
    with suppress(HoldfastError):  # a stop is lifted without the journal, too
        set_again(workspace, now=now)
    refuse_stopped(workspace, "The emergency stop is lifted, a budget's stop is not.")
    return lifted
