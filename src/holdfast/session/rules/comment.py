"""The text of the one "Checkpoint Status" comment on the issue."""

from __future__ import annotations

from holdfast.kernel.digest import id_of
from holdfast.session.rules.prompt import next_action_of, position_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.session.rules.model import SessionState

    CommentStatus = Literal["In Progress", "Blocked", "Resuming"]

HEADING = "## Checkpoint Status"


def status_of(state: SessionState) -> CommentStatus:
    """Three values and no fourth; AMB-CCC-20."""
    if state["progress"]["blockers"]:
        return "Blocked"
    return "Resuming" if state["resuming"] else "In Progress"


def write(state: SessionState) -> str:
    """The comment's body. Its decisions are those made since the checkpoint before."""
    progress = state["progress"]
    number, total = position_of(progress) or (0, 0)
    decisions = "; ".join(f"{one['decision']}: {one['rationale']}" for one in state["fresh"])
    blockers = "; ".join(
        f"{one['blocker']} (unblocked by: {one['until']})" for one in progress["blockers"]
    )
    updated = state["last"]["at"] if state["last"] else state["begun_at"]
    return "\n".join(
        [
            HEADING,
            "",
            f"**Updated:** {updated}",
            f"**Task:** {number} of {total} — {progress['current'] or 'no current task'}",
            f"**Status:** {status_of(state)}",
            "",
            f"**Decisions:** {decisions or 'None'}",
            f"**Blockers:** {blockers or 'None'}",
            f"**Next:** {next_action_of(progress['prompt']) or 'continue with the current task'}",
        ]
    )


def gist(state: SessionState) -> str:
    """What the comment says in everything but its time; the same gist need not be told again."""
    lines = write({**state, "fresh": state["progress"]["decisions"]}).split("\n")
    return id_of("\n".join(line for line in lines if not line.startswith("**Updated:**")))
