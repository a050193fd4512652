"""What agents do at a client's events: a session at work is a sign of life, and a program beats without the
command line's parser."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.kernel.workspace import Workspace

LIVES = "lives"


def has_agents(workspace: Workspace) -> bool:
    """Return whether an agent began in this worktree. Most sessions are no agents."""
    is_here = os.path.isdir(os.path.join(workspace.private, LIVES))
    return is_here or bool(workspace.list_in_tree(LIVES))


def see(workspace: Workspace, session: str, now: int) -> str:
    """Record that the session's agents are at work. Return what to remind them of."""
    if not has_agents(workspace):
        return ""
    from holdfast.fleet.current_life import record_activity

    return record_activity(workspace, session, now)


def beat(
    arguments: Sequence[str], payload: Mapping[str, Any], workspace: Workspace, now: int
) -> dict[str, Any]:
    """Save a heartbeat (`beat AGENT`). Return the life that it belongs to. The payload has the fields of
    `updates.FIELDS`, perhaps `epic` and `fence`, and the agent's folder as `cwd`."""
    from holdfast.fleet import updates
    from holdfast.fleet.context import open_context
    from holdfast.kernel.errors import Usage
    from holdfast.kernel.streams import actor

    if len(arguments) != 1:
        raise Usage("A heartbeat names its agent: beat Secondary-A")
    fence = payload.get("fence")
    context = open_context(
        workspace,
        str(payload.get("epic") or ""),
        folder=str(payload.get("cwd") or ""),
        actor=actor(),
        now=now,
        fence=fence if isinstance(fence, int) else None,
    )
    given = {name: payload[name] for name in updates.NAMES if name in payload}
    result = updates.beat(context, arguments[0], **given)
    return {"agent": arguments[0], "fence": result.fence, "said": result.lines}
