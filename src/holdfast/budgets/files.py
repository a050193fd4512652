"""The files of budgets that are no views: metrics, and older waypoints."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.documents import WAYPOINTS
from holdfast.budgets.rules.ledger import BudgetState
from holdfast.budgets.side_files import METRICS
from holdfast.kernel.erased_text import is_in_file, list_bytes
from holdfast.kernel.places import YOU, Place
from holdfast.kernel.state import load
from holdfast.kernel.tree_file import TreeFile, is_git_name
from holdfast.kernel.workspace import Workspace, worktrees
from holdfast.parts import Copies

# The names of waypoints, in a folder where people may have files of their own.
_NAMES = ("stop-", "alert-", "holding-pattern-")


def _find(workspace: Workspace, streams: Sequence[str], text: str) -> Iterator[str]:
    """Return the older waypoints that hold a text, in all worktrees; the newest is a view."""
    if not text or rules.STREAM not in streams:
        return
    state: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    newest = state["waypoint"]["path"] if state["waypoint"] else ""
    wanted = list_bytes(text)
    for root in worktrees(workspace):
        folder = TreeFile(root, WAYPOINTS)
        for name in sorted(folder.names_if_any()):
            is_older = not is_git_name(name) and f"{WAYPOINTS}/{name}" != newest
            if is_older and is_in_file(str(folder.below(name)), wanted):
                yield str(folder.below(name))


def _list_beside(root: str, views: Sequence[str]) -> Iterator[str]:
    if any(name.startswith(".autopilot/") for name in views):
        yield os.path.join(root, METRICS)
        folder = os.path.join(root, WAYPOINTS)
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.startswith(_NAMES):
                yield os.path.join(folder, name)


COPIES = Copies(find=_find, list_beside=_list_beside)
PLACES = [
    Place("home", "alerts/*.json", "Alerts that hold sessions; hooks deny tools by them without the journal", "JSON", "a person: `holdfast guard ack`"),
    Place("tree", ".autopilot/config.yaml", "Your limits; Holdfast only reads them", "YAML", YOU, is_read=True),
    Place("tree", ".autopilot/state/thresholds.json", "Limits and values of the budget: a view", "JSON", YOU, is_read=True),
    Place("tree", ".autopilot/state/acknowledgments.json", "Acknowledged alerts: a view", "JSON", YOU, is_read=True),
    Place("tree", ".autopilot/state/metrics.jsonl", "Each level that a check found reached, made from the journal", "JSON lines", YOU),
    Place("tree", ".autopilot/waypoints/*.md", "Where work was at a stop or an alert; the newest is a view", "Markdown", YOU),
]  # fmt: skip
