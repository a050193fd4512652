"""The files of a budget: `acknowledgments.json` and `thresholds.json` in `.autopilot/state`, and the
waypoints `.autopilot/waypoints/<reason>-YYYYMMDD-HHMMSS.json`, from which work is resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.budgets.rules.thresholds import ALL_TYPES, LEVELS, QUANTITIES, TYPES, Limits
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.text import split_words

if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import Acknowledgment, BudgetState, Position, Saved, Values


ACKNOWLEDGMENTS = ".autopilot/state/acknowledgments.json"
THRESHOLDS = ".autopilot/state/thresholds.json"
# The protocol writes the first; its siblings the others. AMB-PILOT-07
_VALUE_NAMES = ("value_at_ack", "value_at_acknowledgment", "value")
WAYPOINTS = ".autopilot/waypoints"
THRESHOLD_STOP = "threshold_stop"
ALERT_STOP = "alert_stop"
CONTEXT_ALERT = "context_alert"
EXCEEDED = "Threshold exceeded"
# The one reason whose file has a name of its own; AMB-PILOT-28.
_STOP_PREFIX = "stop"
_ORDER = split_words(
    "id reason created_at session_id trigger phase plan last_task_completed next_task totals "
    "thresholds acknowledgments resume_command"
)


def read_acknowledgments(text: str) -> tuple[dict[str, Acknowledgment], str | None, dict[str, Any]]:
    """Acknowledgments, the last reset, and the keys that are not the protocol's."""
    document = _object(text)
    entries = document.get("acknowledgments", {})
    if not isinstance(entries, dict):
        raise Unparsable("acknowledgments is not an object")
    found = {str(type): _entry(type, entry) for type, entry in entries.items()}
    reset = document.get("last_reset")
    if reset is not None and not isinstance(reset, str):
        raise Unparsable("last_reset is not a time")
    return found, reset, _without(document, "acknowledgments", "last_reset")


def _entry(type: str, entry: Any) -> Acknowledgment:
    if not isinstance(entry, dict):
        raise Unparsable(f"acknowledgments.{type} is not an object")
    value = next((entry[name] for name in _VALUE_NAMES if name in entry), None)
    at = entry.get("acknowledged_at")
    if not isinstance(at, str):
        raise Unparsable(f"acknowledgments.{type} has no acknowledged_at")
    return {
        "acknowledged_at": at,
        "value_at_ack": float(value) if isinstance(value, (int, float)) else None,
        "session_id": str(entry.get("session_id") or ""),
        "level": "alert",
        "threshold": None,
        "until": None,
        "by": None,
        "extra": _without(entry, "acknowledged_at", "session_id", *_VALUE_NAMES),
    }


def is_outdated(known: Acknowledgment, reset: str | None) -> bool:
    """Whether a reset came after it; AMB-PILOT-06."""
    try:
        return reset is not None and clock.parse(known["acknowledged_at"]) < clock.parse(reset)
    except ValueError:
        return False


def write_acknowledgments(state: BudgetState) -> str:
    entries = {
        type: {
            "acknowledged_at": known["acknowledged_at"],
            "value_at_ack": _number(known["value_at_ack"]),
            "session_id": known["session_id"],
            **dict(sorted(known["extra"].items())),
        }
        for type, known in _in_order(state["acknowledgments"], ALL_TYPES).items()
    }
    document = {
        "acknowledgments": entries,
        "last_reset": state["last_reset"],
        **dict(sorted(state["extra"].get(ACKNOWLEDGMENTS, {}).items())),
    }
    return canonical_json.dump_indented(document) + "\n"


def read_thresholds(text: str) -> dict[str, Any]:
    """Only what is not ours is taken from it: the rest is measured."""
    return _without(_object(text), "current_values", "levels_triggered", "last_check")


def _without(document: dict[str, Any], *own: str) -> dict[str, Any]:
    """Return the keys that others wrote."""
    return {name: value for name, value in document.items() if name not in own}


def write_thresholds(state: BudgetState) -> str:
    # The protocol's four, and those of people's own that have a limit.
    shown = [type for type in ALL_TYPES if type in TYPES or type in state["values"]]
    document = {
        "current_values": {
            QUANTITIES[type].in_file: _number(state["values"][type]) for type in shown
        },
        "levels_triggered": {type: state["levels"].get(type) for type in shown},
        "last_check": state["last_check"],
        **dict(sorted(state["extra"].get(THRESHOLDS, {}).items())),
    }
    return canonical_json.dump_indented(document) + "\n"


def _number(value: float | None) -> float | None:
    """Whole numbers without a point, as the protocol writes 42."""
    return int(value) if value is not None and value == int(value) else value


def _object(text: str) -> dict[str, Any]:
    try:
        document = canonical_json.loads(text)
    except ValueError as problem:
        raise Unparsable(str(problem)) from None
    if not isinstance(document, dict):
        raise Unparsable("not a JSON object")
    return document


def path_of_waypoint(reason: str, now: int, taken: str = "") -> str:
    """The place of a waypoint. `taken` is the newest one's: two in one second get two names."""
    prefix = _STOP_PREFIX if reason == THRESHOLD_STOP else reason.replace("_", "-")
    stamp = clock.stamp(now).replace("-", "").replace(":", "").replace("T", "-").rstrip("Z")
    stem = f"{WAYPOINTS}/{prefix}-{stamp}"
    if taken.startswith(stem):
        number = taken.removeprefix(stem).removesuffix(".json").removeprefix("-") or "1"
        stem = f"{stem}-{int(number) + 1}"
    return f"{stem}.json"


def make_waypoint(
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
    path = path_of_waypoint(reason, now, taken)
    content = {
        "id": path.rpartition("/")[2].removesuffix(".json"),
        "reason": reason,
        "created_at": clock.stamp(now),
        "session_id": session,
        "trigger": trigger,
        **place,
        "totals": totals,
        "thresholds": thresholds,
        "acknowledgments": {
            type: {name: known[name] for name in ("acknowledged_at", "value_at_ack", "session_id")}
            for type, known in acknowledgments.items()
        },
        "resume_command": resume,
    }
    return {"path": path, "content": content}


def write_waypoint(saved: Saved) -> str:
    """The keys in their order: a journal gives them back sorted."""
    content = saved["content"]
    ordered = {name: content[name] for name in _ORDER}
    ordered["trigger"] = _in_order(content["trigger"], ("type", "level", "value", "reason"))
    ordered["totals"] = _in_order(content["totals"], ALL_TYPES)
    limits = content["thresholds"]
    ordered["thresholds"] = {level: _in_order(limits[level], ALL_TYPES) for level in LEVELS}
    return canonical_json.dump_indented(ordered) + "\n"


def _in_order(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}
