"""Waypoints that are no longer shown by their stream, and hold a text which must go."""

from __future__ import annotations

import os

from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.waypoint import FOLDER
from holdfast.kernel import canonical_json
from holdfast.kernel.state import load
from holdfast.kernel.views.files import Unreadable, read_file
from holdfast.kernel.workspace import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.kernel.workspace import Workspace


def waypoints_holding(workspace: Workspace, streams: Sequence[str], text: str) -> list[str]:
    """The older waypoints of a budget that hold a text, in all worktrees; the newest is a view."""
    if not text or rules.STREAM not in streams:
        return []
    state: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    newest = state["waypoint"]["path"] if state["waypoint"] else ""
    spelled = canonical_json.dumps(text)[1:-1].encode()
    found = []
    for root in worktrees(workspace):
        folder = os.path.join(root, FOLDER)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        paths = [os.path.join(folder, name) for name in names if f"{FOLDER}/{name}" != newest]
        found += [path for path in paths if _holds(path, spelled)]
    return found


def _holds(path: str, spelled: bytes) -> bool:
    try:
        return spelled in read_file(path)[1]
    except (OSError, Unreadable):
        return False
