"""What open RFCs give to the next session."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def has_rfcs(workspace: Workspace) -> bool:
    """Whether there may be an RFC here, by a record or a folder."""
    known = workspace.exists() and workspace.journal.heads("rfc:")
    return bool(known) or os.path.isdir(os.path.join(workspace.root, ".ohrfc"))


def tell_pack(workspace: Workspace, _since: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the bootstraps to run first, and the reasoning of open RFCs."""
    if not has_rfcs(workspace):
        return [], []
    from holdfast.kernel.text import quote
    from holdfast.rfc.summary import active_reasoning

    waiting, notes = active_reasoning(workspace)
    return [f"holdfast rfc bootstrap {quote(id)}" for id in waiting], notes
