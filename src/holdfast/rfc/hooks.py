"""What open RFCs give to the next session."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def tell_pack(workspace: Workspace, _since: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the bootstraps to run first, and the reasoning of open RFCs."""
    known = workspace.exists() and workspace.journal.heads("rfc:")
    if not known and not os.path.isdir(os.path.join(workspace.root, ".ohrfc")):
        return [], []
    from holdfast.kernel.text import quote
    from holdfast.rfc.summary import active_reasoning

    waiting, notes = active_reasoning(workspace)
    return [f"holdfast rfc bootstrap {quote(id)}" for id in waiting], notes
