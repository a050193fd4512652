"""What gates do at a client's events, and give to the next session: an agent that waits for a person is not driven on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState
    from holdfast.kernel.workspace import Workspace


def waits(workspace: Workspace) -> bool:
    """Return whether a gate holds up this worktree."""
    return any(
        not gate["batch"] and gate["asked"]["worktree"] == workspace.root
        for gate in list_open(workspace)
    )


def list_open(workspace: Workspace) -> list[GateState]:
    """Return the gates without an answer, the longest waiting first; without a load where there is none."""
    if not workspace.exists() or not workspace.journal.heads("gate:"):
        return []
    from holdfast.gates.lookup import open_gates

    return open_gates(workspace)


def tell_pack(workspace: Workspace, since: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the gates to wait for first, and what people answered since an instant."""
    if not workspace.exists() or not workspace.journal.heads("gate:"):
        return [], []
    from holdfast.gates.lookup import for_a_pack

    return for_a_pack(workspace, since)
