"""Work without the server: what an agent says of itself is kept on this machine, as a hook keeps it."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError, StoreAway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from holdfast.kernel.workspace import Workspace

    Operation = TypeVar("Operation", bound=Callable[..., Any])


def works_offline(operation: Operation) -> Operation:
    """Mark an operation that goes on while the server is away: it writes only what its caller says of
    itself, so it needs no agreement with other machines."""
    operation.works_offline = True  # type: ignore[attr-defined]
    return operation


def can_work_offline(operation: Callable[..., Any]) -> bool:
    return getattr(operation, "works_offline", False)


def reachable(workspace: Workspace) -> tuple[Workspace, str]:
    """The workspace; where its server is away the same one without it, and why."""
    if not workspace.url:
        return workspace, ""
    try:
        _ = workspace.journal
    except StoreAway as away:
        return workspace.offline(), away.message
    return workspace, ""


def away_message(why: str) -> str:
    return f"Kept here, not yet on the server: {why}"


def add_offline_hint(error: HoldfastError, why: str) -> HoldfastError:
    """A refusal that is only the best of this machine's knowledge."""
    error.hint = f"That is what this machine knows. {why} {error.hint}".strip()
    return error
