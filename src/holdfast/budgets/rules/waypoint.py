"""Waypoints: `.autopilot/waypoints/<reason>-YYYYMMDD-HHMMSS.json`, from which work is resumed."""

from __future__ import annotations

from holdfast.budgets.rules.thresholds import LEVELS, TYPES
from holdfast.kernel import canonical_json, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.budgets.rules.ledger import Acknowledgment, Position, Saved, Values
    from holdfast.budgets.rules.thresholds import Limits

FOLDER = ".autopilot/waypoints"
THRESHOLD_STOP = "threshold_stop"
ALERT_STOP = "alert_stop"
CONTEXT_ALERT = "context_alert"
EXCEEDED = "Threshold exceeded"
# The one reason whose file has a name of its own; AMB-PILOT-28.
_STOP_PREFIX = "stop"
_ORDER = (
    *("id", "reason", "created_at", "session_id", "trigger", "phase", "plan"),
    *("last_task_completed", "next_task", "totals", "thresholds", "acknowledgments"),
    "resume_command",
)


def path_of(reason: str, now: int, taken: str = "") -> str:
    """The place of a waypoint. `taken` is the newest one's: two in one second get two names."""
    prefix = _STOP_PREFIX if reason == THRESHOLD_STOP else reason.replace("_", "-")
    stamp = clock.stamp(now).replace("-", "").replace(":", "").replace("T", "-").rstrip("Z")
    stem = f"{FOLDER}/{prefix}-{stamp}"
    if taken.startswith(stem):
        number = taken.removeprefix(stem).removesuffix(".json").removeprefix("-") or "1"
        stem = f"{stem}-{int(number) + 1}"
    return f"{stem}.json"


def made(
    reason: str,
    *,
    trigger: dict[str, Any],
    session: str,
    place: Position,
    totals: Values,
    thresholds: Limits,
    acknowledgments: dict[str, Acknowledgment],
    resume: str,
    taken: str,
    now: int,
) -> Saved:
    """A waypoint with everything that AMB-PILOT-27 names."""
    path = path_of(reason, now, taken)
    content = {
        "id": path.rpartition("/")[2].removesuffix(".json"),
        "reason": reason,
        "created_at": clock.stamp(now),
        "session_id": session,
        "trigger": trigger,
        "phase": place["phase"],
        "plan": place["plan"],
        "last_task_completed": place["last_task_completed"],
        "next_task": place["next_task"],
        "totals": totals,
        "thresholds": thresholds,
        "acknowledgments": {
            type: {name: known[name] for name in ("acknowledged_at", "value_at_ack", "session_id")}
            for type, known in acknowledgments.items()
        },
        "resume_command": resume,
    }
    return {"path": path, "content": content}


def write(saved: Saved) -> str:
    """The keys in their order: a journal gives them back sorted."""
    content = saved["content"]
    ordered = {name: content[name] for name in _ORDER}
    ordered["trigger"] = _in_order(content["trigger"], ("type", "level", "value", "reason"))
    ordered["totals"] = _in_order(content["totals"], TYPES)
    ordered["thresholds"] = {
        level: _in_order(content["thresholds"][level], TYPES) for level in LEVELS
    }
    return canonical_json.indented(ordered) + "\n"


def _in_order(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}
