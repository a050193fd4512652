"""The emergency stop: a latch that holds without the database, and its record."""

from __future__ import annotations

from holdfast.kernel import latch
from holdfast.kernel.errors import HoldfastError, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.latch import Latch
    from holdfast.kernel.workspace import Workspace


def stop(workspace: Workspace, reason: str, *, by: str, now: int) -> bool:
    """Freeze every agent of the workspace. False when the record of it could not be written: the
    stop itself holds all the same."""
    latch.engage(workspace, reason, by=by, now=now)
    return _record(workspace, "stop", reason, by=by, now=now)


def release(workspace: Workspace, reason: str, *, by: str, now: int) -> bool:
    """Lift the stop; whether there was one."""
    if not latch.release(workspace):
        return False
    _record(workspace, "release", reason, by=by, now=now)
    return True


def _record(workspace: Workspace, what: str, reason: str, *, by: str, now: int) -> bool:
    from holdfast.protocols.stop import STREAM
    from holdfast.writing import writer_of

    try:
        command = {"do": what, "reason": reason, "by": by}
        outcome = writer_of(workspace).execute(STREAM, command, actor=by, now=now)
    except HoldfastError:
        return False
    return not outcome["queued"]


def words(stopped: Latch) -> str:
    """What an agent is told."""
    by = f" ({stopped['by']})" if stopped["by"] else ""
    return f"Stop now, checkpoint: {stopped['reason']}{by}"


def refuse_stopped(workspace: Workspace, saved: str = "") -> None:
    """Exit 7 while the stop holds; `saved` says what was kept first."""
    stopped = latch.read(workspace)
    if stopped is not None:
        raise Stopped(
            f"{words(stopped)}.{f' {saved}' if saved else ''}",
            hint="Checkpoint and wait; a person lifts it with: holdfast release",
        )
