"""What the verbs about agents share: the context of a call, and the reply of an operation."""

from __future__ import annotations

from holdfast.cli.frame import Reply, warn
from holdfast.cli.terminal import safe
from holdfast.fleet.context import open_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.cli.frame import Call
    from holdfast.fleet.context import FleetContext
    from holdfast.fleet.operation import AgentResult


def context_for(
    operation: Callable[..., Any], call: Call, epic: str | None, fence: int | None = None
) -> FleetContext:
    """The context in which a call runs an operation."""
    return open_context(
        call.workspace_for(operation),
        epic or "",
        folder=call.folder,
        actor=call.actor,
        now=call.now,
        fence=fence,
    )


def reply(result: AgentResult) -> Reply:
    """The protocol's own lines for people, the checkpoint for programs; exit 7 under an emergency stop."""
    result.refuse_stopped()
    for warning in result.warnings:
        warn(warning)
    return Reply(result.data(), [safe(line) for line in result.lines], next=result.next)
