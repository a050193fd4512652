"""The text of the one "Checkpoint Status" comment on the issue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from holdfast.kernel.digest import id_of
from holdfast.session.rules.fields import FIELDS
from holdfast.session.rules.prompt import next_action_of, position_of

if TYPE_CHECKING:
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
    values: dict[str, Any] = {**progress, "decisions": state["fresh"]}
    said = {
        field.in_comment: "; ".join(field.write_lines(values.get(field.name) or field.begin()))
        for field in FIELDS
        if field.in_comment
    }
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
            *(f"**{label}:** {_plain(text) or 'None'}" for label, text in said.items()),
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
