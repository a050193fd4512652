"""The text of the one "Checkpoint Status" comment on the issue."""

from __future__ import annotations

import re

from holdfast.kernel.digest import id_of
from holdfast.session.rules.prompt import next_action_of, position_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.session.rules.model import SessionState

    CommentStatus = Literal["In Progress", "Blocked", "Resuming"]

HEADING = "## Checkpoint Status"
# What begins a tag, a comment or the like in HTML, which trackers read in Markdown too.
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")


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
    following = next_action_of(progress["prompt"])
    return "\n".join(
        [
            HEADING,
            "",
            f"**Updated:** {updated}",
            f"**Task:** {number} of {total} — {_plain(progress['current']) or 'no current task'}",
            f"**Status:** {status_of(state)}",
            "",
            f"**Decisions:** {_plain(decisions) or 'None'}",
            f"**Blockers:** {_plain(blockers) or 'None'}",
            f"**Next:** {_plain(following) or 'continue with the current task'}",
        ]
    )


def _plain(text: str) -> str:
    """Text on one line that no tracker takes for markup: `<!--` would hide all that follows."""
    return _MARKUP.sub("&lt;", " ".join(text.split()))


def gist(state: SessionState) -> str:
    """What the comment says in everything but its time; the same gist need not be told again."""
    lines = write({**state, "fresh": state["progress"]["decisions"]}).split("\n")
    return id_of("\n".join(line for line in lines if not line.startswith("**Updated:**")))
