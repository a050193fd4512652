"""The edits of EPIC_README.md that follow from an agent's updates."""

from __future__ import annotations

from holdfast.fleet.rules.model import EPIC_README
from holdfast.fleet.rules.names import readme_key
from holdfast.fleet.rules.updates import TOLD, was_stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.fleet.rules.model import AgentState
    from holdfast.kernel.rules import Wish


def of_update(state: AgentState, command: Any, checkpoint: dict[str, Any], now: int) -> list[Wish]:
    """The agent's own section, and the removal of its line among the stale agents once it is back."""
    wishes = [_wish(state, command, "recovered")] if was_stale(state, now) else []
    if command["do"] in TOLD:
        lines = [
            f"**Feature:** {checkpoint['feature']}",
            f"**Stage:** {checkpoint['stage']} ({checkpoint['phase']})",
            f"**Status:** {checkpoint['status']}",
            f"**Current step:** {checkpoint['current_step']}",
            f"**Blockers:** {'; '.join(checkpoint['blockers']) or 'none'}",
            f"**Updated:** {checkpoint['last_checkpoint']}",
        ]
        wishes.append(_wish(state, command, "progress", lines=lines))
    return wishes


def of_ending(state: AgentState, command: Any) -> list[Wish]:
    """A life that ended is not stale any more; its feature may wait for Wave 2."""
    how = command["how"].replace("_", " ")
    by = f" by {command['by']}" if command["by"] else ""
    wishes = [
        _wish(state, command, "recovered"),
        _wish(state, command, "progress", lines=[f"**Status:** {how}{by}"]),
    ]
    if command["how"] == "deferred":
        feature = (state["checkpoint"] or {}).get("feature", "")
        wishes.append(_wish(state, command, "deferred", feature=feature))
    return wishes


def _wish(state: AgentState, command: Any, change: str, **more: Any) -> Wish:
    session = str((state["checkpoint"] or {}).get("session_id", ""))
    readme = command["readme"]
    body = {
        "change": change,
        "agent": state["agent"],
        "holder": state["agent"],
        "session": session,
        # A command of an earlier version does not say whose file it means: the agent's own.
        "worktree": readme if isinstance(readme, str) else state["worktree"],
        **more,
    }
    return {
        "kind": EPIC_README,
        "key": readme_key(state["folder"], state["agent"], change),
        "body": body,
    }
