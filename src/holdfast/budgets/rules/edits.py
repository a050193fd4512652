"""What others write into a budget's files.

An acknowledgment can be taken out by anybody: then a person is asked again. One that is put in counts
only in a file from before holdfast: later ones come from a person's channel, or an agent could
acknowledge its own alert with an editor.
"""

from __future__ import annotations

from holdfast.budgets.rules import acknowledgments as files
from holdfast.budgets.rules.thresholds import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.kernel.views.reconcile import Change


def absorb(
    state: BudgetState, base: BudgetState, change: Change, now: int
) -> list[tuple[str, Any]]:
    path = change["path"]
    if change["kind"] == "broken":
        return []
    if path == files.THRESHOLDS:
        return _thresholds(state, change)
    if path == files.ACKNOWLEDGMENTS:
        return _acknowledgments(state, base, change)
    if change["kind"] == "removed":
        return [("edited_outside", {"path": path, "gone": True})]
    return [("edited_outside", {"path": path, "text": change["text"]})]


def _thresholds(state: BudgetState, change: Change) -> list[tuple[str, Any]]:
    if change["kind"] == "removed":
        return []
    extra = files.read_thresholds(change["text"])
    if extra == state["extra"].get(files.THRESHOLDS, {}):
        return []
    return [("edited_outside", {"path": change["path"], "extra": extra})]


def _acknowledgments(
    state: BudgetState, base: BudgetState, change: Change
) -> list[tuple[str, Any]]:
    known = state["acknowledgments"]
    if change["kind"] == "removed":
        gone = {"path": change["path"], "removed": list(known)}
        return [("edited_outside", gone)] if known else []
    theirs, reset, extra = files.read(change["text"])
    removed = [type for type in base["acknowledgments"] if type in known and type not in theirs]
    imported: dict[str, Any] = {}
    refused: list[str] = []
    for type, entry in theirs.items():
        ours = known.get(type) or base["acknowledgments"].get(type)
        if ours is not None and ours["acknowledged_at"] == entry["acknowledged_at"]:
            if type in known and entry["extra"] != ours["extra"]:
                imported[type] = {**ours, "extra": entry["extra"]}
        elif state["opened"] or type not in TYPES or files.is_outdated(entry, reset):
            refused.append(type)
        else:
            imported[type] = entry
    reset = state["last_reset"] if reset is None or state["opened"] else reset
    same = reset == state["last_reset"] and extra == state["extra"].get(files.ACKNOWLEDGMENTS, {})
    if same and not removed and not imported and not refused:
        return []
    body = {
        "path": change["path"],
        "removed": removed,
        "imported": imported,
        "refused": refused,
        "last_reset": reset,
        "extra": extra,
    }
    return [("edited_outside", body)]


def apply_edit(state: BudgetState, body: Any) -> BudgetState:
    path = body["path"]
    if "extra" in body:
        state = {**state, "extra": {**state["extra"], path: body["extra"]}}
    if body.get("gone"):
        saved = state["waypoint"]
        return {**state, "waypoint": None} if saved and saved["path"] == path else state
    if path != files.ACKNOWLEDGMENTS:
        return state
    removed = body["removed"]
    known = {type: one for type, one in state["acknowledgments"].items() if type not in removed}
    return {
        **state,
        "acknowledgments": {**known, **body.get("imported", {})},
        "last_reset": body.get("last_reset", state["last_reset"]),
    }
