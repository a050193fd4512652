"""The emergency stop: a latch that holds without the database, and its record."""

from __future__ import annotations

from holdfast.kernel import latch
from holdfast.kernel.errors import HoldfastError, NotAllowed, Stopped, StoreAway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.latch import Latch
    from holdfast.kernel.workspace import Workspace

# Who sets the latch when a budget's limit is reached; `guard reset` lifts it, and asks a person.
BUDGET = "guard"
BUDGET_LIFTED_BY = "holdfast guard reset"


def stop(workspace: Workspace, reason: str, *, by: str, now: int) -> tuple[bool, list[str]]:
    """Stop every agent of the workspace. Returns whether the record was written (the stop holds
    without it), and the worktrees whose latch could not be set."""
    from holdfast.kernel.redact import Redactor

    reason = Redactor().text(reason)
    missed = latch.engage(workspace, reason, by=by, now=now)
    return _record(workspace, "stop", reason, by=by, now=now), missed


def release(workspace: Workspace, reason: str, *, by: str, now: int) -> bool:
    """Lift the stop; whether there was one. A budget's stop is not lifted here."""
    held = latch.read(workspace)
    if held is not None and held["by"] == BUDGET:
        raise NotAllowed(
            f"A budget's limit is reached: {held['reason']}.",
            hint=f"A person lifts it with: {BUDGET_LIFTED_BY}",
            kind="budget_stop",
        )
    if not latch.release(workspace):
        return False
    _record(workspace, "release", reason, by=by, now=now)
    return True


def _record(workspace: Workspace, what: str, reason: str, *, by: str, now: int) -> bool:
    from holdfast.estop.rules.stop import STREAM
    from holdfast.streams import open_writer

    command = {"do": what, "reason": reason, "by": by}
    try:
        outcome = open_writer(workspace).execute(STREAM, command, actor=by, now=now)
    except StoreAway:
        return _leave_for_server(workspace, command, by=by, now=now)
    except HoldfastError:
        return False
    return not outcome["queued"]


def _leave_for_server(workspace: Workspace, command: Any, *, by: str, now: int) -> bool:
    """The server is away: the other machines hear of it when it is back."""
    from holdfast.estop.rules.stop import STREAM
    from holdfast.streams import open_writer

    if workspace.url:
        try:
            open_writer(workspace.offline()).execute(STREAM, command, actor=by, now=now)
            workspace.wants_forwarder = True
        except HoldfastError:
            pass
    return False


def words(stopped: Latch) -> str:
    """The text for an agent."""
    by = f" ({stopped['by']})" if stopped["by"] else ""
    return f"Stop now, checkpoint: {stopped['reason']}{by}"


def lifted_by(stopped: Latch) -> str:
    """The command with which a person lifts this stop."""
    return BUDGET_LIFTED_BY if stopped["by"] == BUDGET else "holdfast release"


def refuse_stopped(workspace: Workspace, saved: str = "") -> None:
    """Raise Stopped (exit 7) while a stop holds; `saved` says what was kept first."""
    stopped = latch.read(workspace)
    if stopped is not None:
        raise Stopped(
            f"{words(stopped)}.{f' {saved}' if saved else ''}",
            hint=f"Checkpoint and wait; a person lifts it with: {lifted_by(stopped)}",
        )
