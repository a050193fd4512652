"""The files of a budget that are no views: its metrics, and older waypoints.

`.autopilot/state/metrics.jsonl` has one line for each level that a check found reached, only ever appended.
Lines are numbered; the next check appends from the journal what a crash left out.
"""

from __future__ import annotations

from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.documents import WAYPOINTS
from holdfast.kernel import canonical_json
from holdfast.kernel.jsonl import LineFile
from holdfast.kernel.state import load
from holdfast.kernel.tree_file import TreeFile, is_git_name
from holdfast.kernel.views.files import Unreadable, file_at, read_file
from holdfast.kernel.workspace import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.journal.interface import Journal, Record
    from holdfast.kernel.workspace import Workspace

METRICS = ".autopilot/state/metrics.jsonl"


def append_metrics(
    workspace: Workspace, stream: str, crossings: int, fresh: Sequence[Record]
) -> None:
    """Append the lines that are missing, of `crossings` in all. `fresh` are the newest records."""
    if not crossings:
        return
    with LineFile(file_at(workspace, METRICS), _is_metric) as file:
        last = file.last()
        number = last["number"] if last else 0
        if number == crossings:
            return
        missing = _lines(fresh)
        if not missing or missing[0]["number"] != number + 1:
            missing = _find_missing(file, workspace.journal, stream, number, crossings)
        if missing:
            file.append(missing)


def _find_missing(
    file: LineFile, journal: Journal, stream: str, number: int, crossings: int
) -> list[dict[str, Any]]:
    """By number; where the file has more than the journal, as after a restored backup, by record."""
    lines = _lines(journal.read(stream))
    if number < crossings:
        return [line for line in lines if line["number"] > number]
    known = {(line["record"], line["number"]) for line in file.all()}
    return [line for line in lines if (line["record"], line["number"]) not in known]


def _lines(records: Sequence[Record]) -> list[dict[str, Any]]:
    found = []
    for record in records:
        if record["kind"] != "checked" or record["body"] is None:
            continue
        body = record["body"]
        for one in body["handled"]:
            found.append(
                {
                    "number": one["number"],
                    "at": body["at"],
                    "type": one["type"],
                    "level": one["level"],
                    "value": one["value"],
                    "threshold": one["threshold"],
                    "handled": one["how"],
                    "session_id": body["session"],
                    "record": record["id"],
                }
            )
    return found


def _is_metric(line: Any) -> bool:
    return isinstance(line.get("number"), int) and isinstance(line.get("record"), str)


def find_waypoints(workspace: Workspace, streams: Sequence[str], text: str) -> list[str]:
    """The older waypoints of a budget that hold a text, in all worktrees; the newest is a view."""
    if not text or rules.STREAM not in streams:
        return []
    state: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    newest = state["waypoint"]["path"] if state["waypoint"] else ""
    spelled = canonical_json.dumps(text)[1:-1].encode()
    found = []
    for root in worktrees(workspace):
        folder = TreeFile(root, WAYPOINTS)
        names = [name for name in sorted(folder.names_if_any()) if f"{WAYPOINTS}/{name}" != newest]
        files = [folder.below(name) for name in names if not is_git_name(name)]
        found += [str(file) for file in files if _is_in(file, spelled)]
    return found


def _is_in(file: TreeFile, spelled: bytes) -> bool:
    try:
        return spelled in read_file(file)[1]
    except (OSError, Unreadable):
        return False
