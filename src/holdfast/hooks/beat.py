"""A heartbeat without the command line's parser, for programs that send many: `beat AGENT`, and the rest
as JSON on standard input."""

from __future__ import annotations

from holdfast.fleet import updates
from holdfast.fleet.context import open_context
from holdfast.kernel.errors import Usage
from holdfast.streams import actor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.fleet.updates import BeatRequest
    from holdfast.kernel.workspace import Workspace


def beat(
    arguments: list[str], payload: Mapping[str, Any], workspace: Workspace, now: int
) -> dict[str, Any]:
    """Save a heartbeat; the life that it belongs to. The payload has the fields of `BeatRequest`,
    perhaps `epic` and `fence`, and the agent's folder as `cwd`."""
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
    request: BeatRequest = {**payload, "agent": arguments[0]}  # type: ignore[typeddict-item]
    result = updates.beat(context, request)
    return {"agent": arguments[0], "fence": result.fence, "said": result.lines}
