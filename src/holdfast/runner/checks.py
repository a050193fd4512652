"""What every runner checks: whether a stop holds, and whether each record was written at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.kernel import latch
from holdfast.kernel.errors import Stopped, StoreAway
from holdfast.kernel.stops import lifted_by
from holdfast.kernel.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome


def refuse_while_stopped(workspace: Workspace) -> None:
    """Raise Stopped while a stop holds; the message says why, and how a person lifts it."""
    held = latch.read(workspace)
    if held is not None:
        raise Stopped(f"{held['reason']}; a person lifts it with: {lifted_by(held)}")


def refuse_queued(outcome: Outcome) -> None:
    """Raise StoreAway where a record waits in the inbox: a runner needs a record of every step."""
    if outcome["queued"]:
        raise journal_away()


def journal_away() -> StoreAway:
    """Return the error for a journal that cannot be written."""
    return StoreAway(
        "The journal cannot be written from here, so a run could not be resumed.",
        hint="Run it where the journal is writable.",
        kind="read_only",
    )
