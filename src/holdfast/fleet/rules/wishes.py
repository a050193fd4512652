"""The edits of EPIC_README.md that follow from an agent's updates."""

from __future__ import annotations

from holdfast.fleet.rules.liveness import age_minutes
from holdfast.fleet.rules.model import EPIC_README, STALE_AFTER
from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.fleet.rules.model import AgentState
    from holdfast.kernel.rules import Wish

# The updates that change the agent's section; a heartbeat does not.
TOLD = ("start", "resume", "phase", "block", "unblock", "complete")


def has_news(state: AgentState, command: Any, now: int) -> bool:
    """Whether an update leads to an edit."""
    return command["do"] in TOLD or _was_stale(state, now)


def of_update(state: AgentState, command: Any, checkpoint: dict[str, Any], now: int) -> list[Wish]:
    """The agent's own section, and the removal of its line among the stale agents once it is back."""
    wishes = [_wish(state, "recovered")] if _was_stale(state, now) else []
    if command["do"] in TOLD:
        lines = [
            f"**Feature:** {checkpoint['feature']}",
            f"**Stage:** {checkpoint['stage']} ({checkpoint['phase']})",
            f"**Status:** {checkpoint['status']}",
            f"**Current step:** {checkpoint['current_step']}",
            f"**Blockers:** {'; '.join(checkpoint['blockers']) or 'none'}",
            f"**Updated:** {checkpoint['last_checkpoint']}",
        ]
        wishes.append(_wish(state, "progress", lines=lines))
    return wishes


def of_ending(state: AgentState, command: Any) -> list[Wish]:
    """A life that ended is not stale any more; its feature may wait for Wave 2."""
    how = command["how"].replace("_", " ")
    by = f" by {command['by']}" if command["by"] else ""
    wishes = [
        _wish(state, "recovered"),
        _wish(state, "progress", lines=[f"**Status:** {how}{by}"]),
    ]
    if command["how"] == "deferred":
        feature = (state["checkpoint"] or {}).get("feature", "")
        wishes.append(_wish(state, "deferred", feature=feature))
    return wishes


def _was_stale(state: AgentState, now: int) -> bool:
    try:
        last = clock.parse(str((state["checkpoint"] or {}).get("last_checkpoint")))
    except ValueError:
        return False
    return age_minutes(last, now) > STALE_AFTER


def _wish(state: AgentState, change: str, **more: Any) -> Wish:
    session = str((state["checkpoint"] or {}).get("session_id", ""))
    body = {
        "change": change,
        "agent": state["agent"],
        "holder": state["agent"],
        "session": session,
        "worktree": state["worktree"],
        **more,
    }
    return {
        "kind": EPIC_README,
        "key": f"{state['folder']}/{state['agent']}/{change}",
        "body": body,
    }
