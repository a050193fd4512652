"""The emergency stop: a latch that holds without the database, and its record."""

from __future__ import annotations

from holdfast.estop.rules import stop as rules
from holdfast.kernel import clock, latch
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import HoldfastError, NotAllowed, StoreAway
from holdfast.kernel.redact import Redactor
from holdfast.kernel.state import load
from holdfast.kernel.stops import RELEASE, lifted_by
from holdfast.kernel.streams import open_writer
from holdfast.kernel.trust import signers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.estop.rules.stop import StopState
    from holdfast.journal.interface import Journal
    from holdfast.kernel.latch import Latch
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.people.removed_stops import Missing

# What a person does who lifts it, in a signature and in the record of a refused attempt.
LIFT = "lift the emergency stop"


def stop(workspace: Workspace, reason: str, *, by: str, now: int) -> tuple[bool, list[str]]:
    """Stop every agent of the workspace. Returns whether the record was written (the stop holds
    without it), and the worktrees whose latch could not be set."""
    reason = Redactor().text(reason)
    missed = latch.engage(workspace, reason, by=by, now=now)
    return _record(workspace, "stop", reason, by=by, now=now), missed


def release(workspace: Workspace, reason: str, *, person: Person, now: int) -> bool:
    """Lift the stop as a person who was seen; whether there was one. The record comes first: without
    it, the next command would set the latch again. A budget's stop is not lifted here."""
    held = refuse_budget(workspace)
    recorded = _record(workspace, "release", reason, by=person, now=now)
    return latch.release(workspace) if held else recorded


def refuse_budget(workspace: Workspace) -> Latch | None:
    """The latch that holds, if it is not a budget's."""
    held = latch.read(workspace)
    if held is not None and lifted_by(held) != RELEASE:
        raise NotAllowed(
            f"A budget's limit is reached: {held['reason']}.",
            hint=f"A person lifts it with: {lifted_by(held)}",
            kind="budget_stop",
        )
    return held


def is_recorded(workspace: Workspace) -> StopState | None:
    """The stop that holds by the records, if one does. Of a journal that is damaged nothing is known."""
    if not workspace.exists():
        return None
    try:
        state: StopState = load(workspace.journal, rules, rules.STREAM)[0]
        return holding(workspace, state)
    except StoreAway:
        raise
    except HoldfastError:
        return None


def holding(workspace: Workspace, state: StopState) -> StopState | None:
    """The stop of a state. One that was lifted without the signature that `gate.signers` asks for
    still holds."""
    if state["stopped"]:
        return state
    lifted = state.get("lifted")
    if lifted is None or not signers_of(workspace):
        return None
    from holdfast.kernel.signatures import counts

    subject = {"reason": lifted["reason"], "by": lifted["by"]}
    if counts(workspace, lifted["person"], LIFT, subject, {"reason": state["reason"]}):
        return None
    return {"stopped": True, "reason": lifted["reason"], "by": lifted["by"]}


def list_missing(workspace: Workspace, now: int, *, is_held: bool, is_copy: bool) -> list[Missing]:
    """Return the stop that holds by the records and has no latch."""
    stopped = None if is_held else is_recorded(workspace)
    if stopped is None:
        return []
    reason, by = stopped["reason"], stopped["by"]
    return [("the emergency stop", lambda: latch.engage(workspace, reason, by=by, now=now))]


def _record(workspace: Workspace, what: str, reason: str, *, by: str | Person, now: int) -> bool:
    """Whether it was recorded. Only a stop can wait for a server that is away; a release cannot."""
    command: dict[str, Any] = {"do": what, "reason": reason, "by": by}
    if what == "release":
        command["holds"] = is_recorded(workspace) is not None
    actor = by if isinstance(by, str) else by["name"]
    order = Order(rules.STREAM, command)
    can_wait = what == "stop"
    try:
        (outcome,) = commit(
            open_writer(workspace), [order], actor=actor, now=now, can_wait=can_wait
        )
    except StoreAway:
        if not can_wait:
            raise
        return _leave_for_server(workspace, command, by=actor, now=now)
    except HoldfastError as error:
        if isinstance(error, NotAllowed) and not can_wait:
            raise
        return False
    return bool(outcome["records"])


def _leave_for_server(workspace: Workspace, command: Any, *, by: str, now: int) -> bool:
    """The server is away: the other machines hear of it when it is back."""
    if workspace.url:
        try:
            open_writer(workspace.offline()).execute(rules.STREAM, command, actor=by, now=now)
            workspace.wants_forwarder = True
        except HoldfastError:
            pass
    return False


def follow(workspace: Workspace, state: StopState, server: Journal) -> None:
    """Set or lift the latch as the server's stream says."""
    held, stopped = latch.read(workspace), holding(workspace, state)
    if stopped is not None:
        if held is None:
            latch.engage(workspace, stopped["reason"], by=stopped["by"], now=clock.now())
        return
    # Only the stop that was lifted: one that the server never heard of holds on.
    lifted = server.latest(stream=rules.STREAM, kind="stopped", limit=1)
    body = lifted[0]["body"] if lifted else None
    if held and body and (held["reason"], held["by"]) == (body["reason"], body["by"]):
        latch.release(workspace)
