"""What a budget is after each of its records."""

from __future__ import annotations

from holdfast.budgets.rules.edits import apply_edit
from holdfast.budgets.rules.ledger import ERRORS_KEPT, SESSIONS_KEPT, last_items
from holdfast.budgets.rules.thresholds import TYPES
from holdfast.budgets.rules.units import millionths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.budgets.rules.ledger import BudgetState, Pending, SeenLevels
    from holdfast.journal.interface import Event


def apply(state: BudgetState, event: Event) -> BudgetState:
    kind, body = event["kind"], event["body"]
    state = {**state, "opened": True}
    if kind == "added":
        return _with_report(state, body)
    if kind == "checked":
        return _checked(state, body)
    if kind == "prepared":
        return {**state, "waypoint": body["saved"], "lowered": body["lowered"]}
    if kind == "stopped":
        return {
            **state,
            "stopped": body["halt"],
            "waypoint": body["saved"],
            "lowered": body["lowered"],
        }
    if kind == "acknowledged":
        return _acknowledged(state, body)
    if kind == "reset":
        return _was_reset(state, body)
    if kind == "edited_outside":
        return apply_edit(state, body)
    return state


def _with_report(state: BudgetState, body: Any) -> BudgetState:
    added = state["added"]
    cost = millionths(body["cost"]) if "cost" in body else None
    errors = added["recent_errors"]
    if "error" in body:
        errors = [*errors, body["error"]][-ERRORS_KEPT:]
    state = {
        **state,
        "added": {
            "cost": _sum(added["cost"], cost),
            "tokens": added["tokens"] + body.get("tokens", 0),
            "errors": added["errors"] + ("error" in body),
            "recent_errors": errors,
        },
    }
    if "step" not in body:
        return state
    step = state["steps"].get(body["step"], {"cost": None, "tokens": 0, "errors": 0})
    state["steps"] = {
        **state["steps"],
        body["step"]: {
            "cost": _sum(step["cost"], cost),
            "tokens": step["tokens"] + body.get("tokens", 0),
            "errors": step["errors"] + ("error" in body),
        },
    }
    return state


def _sum(known: int | None, more: int | None) -> int | None:
    return known if more is None else (known or 0) + more


def _checked(state: BudgetState, body: Any) -> BudgetState:
    seen: SeenLevels = state["sessions"].get(
        body["session"], {"levels": {}, "first_at": body["at"], "suggested_at": ""}
    )
    levels = {type: level for type, level in body["levels"].items() if level is not None}
    suggested = body["at"] if "elapsed" in body else seen["suggested_at"]
    highest = {**seen.get("highest", {})}
    for type, value in body["values"].items():
        if value is not None:
            highest[type] = max(value, highest.get(type, value))
    entry = {**seen, "levels": levels, "suggested_at": suggested, "highest": highest}
    return {
        **state,
        "values": body["values"],
        "levels": body["levels"],
        "last_check": body["at"],
        "limits": body.get("limits", state["limits"]),
        "sessions": last_items(state["sessions"], body["session"], entry, SESSIONS_KEPT),
        "pending": _pending(state, body),
        "crossings": state["crossings"] + len(body["handled"]),
    }


def _pending(state: BudgetState, body: Any) -> dict[str, Pending]:
    """Alerts that wait. One that waits already stays the same one, until a person ends it. In records
    of earlier versions, one whose value had fallen below its level waited no more."""
    waiting = {one["type"]: one for one in body["handled"] if one["how"] == "waiting"}
    pending: dict[str, Pending] = {}
    for type in TYPES:
        if type in waiting:
            pending[type] = state["pending"].get(type) or {
                "value": waiting[type]["value"],
                "threshold": waiting[type]["threshold"],
                "since": body["at"],
                "session_id": body["session"],
            }
        elif type in state["pending"] and (
            "alerts_stay" in body or not _has_fallen(state["pending"][type], type, body)
        ):
            pending[type] = state["pending"][type]
    return pending


def _has_fallen(pending: Pending, type: str, body: Any) -> bool:
    """An unknown value tells nothing; nor does another session's, but for the context: a new session
    begins with an empty one."""
    if body["values"][type] is None:
        return False
    return type == "context" or pending["session_id"] == body["session"]


def _acknowledged(state: BudgetState, body: Any) -> BudgetState:
    entry = {
        "acknowledged_at": body["at"],
        "value_at_ack": body["value"],
        "session_id": body["session"],
        "level": body["level"],
        "threshold": body["threshold"],
        "until": body["until"],
        "by": body["by"],
        "extra": {},
        "alert": body.get("alert"),
    }
    pending = {type: one for type, one in state["pending"].items() if type != body["type"]}
    known = {**state["acknowledgments"], body["type"]: entry}
    return {**state, "acknowledgments": known, "pending": pending}  # type: ignore[typeddict-item]


def _was_reset(state: BudgetState, body: Any) -> BudgetState:
    if body["by"] is not None:
        names = ("stopped", "given", "lowered", "last_reset", "pending")
        before = body.get("before") or {name: state[name] for name in names}  # type: ignore[literal-required]
        sessions = {
            name: {**one, "levels": {}, "highest": {}} for name, one in state["sessions"].items()
        }
        lift = {"by": body["by"], "before": before}
        state = {**state, "lift": lift, "sessions": sessions}  # type: ignore[typeddict-item]
    state = {
        **state,
        "acknowledgments": {},
        "pending": state["pending"] if body.get("alerts_stay") else {},
        "last_reset": body["at"],
        "given": body["given"],
        "lowered": body["lowered"],
    }
    if not body["lifted"]:
        return state
    return {
        **state,
        "stopped": None,
        "forgiven": {**state["forgiven"], **body["forgiven"]},
        "added": {**state["added"], "errors": 0, "recent_errors": []},
    }
