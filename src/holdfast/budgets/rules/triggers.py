"""`checkpoint_triggers`: which event has which action. The entries that name a threshold are bound to
one level of one type: they say what is done there, and may say where it is; AMB-PILOT-01."""

from __future__ import annotations

from typing import Any, TypedDict

from holdfast.budgets.rules import thresholds
from holdfast.budgets.rules.thresholds import ALERT, FORCE, HARD_STOP, STOP, WARNING, Limits, bad
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.text import nearest


class Trigger(TypedDict, total=False):
    """One entry: `threshold` in its type's unit, `duration` in milliseconds."""

    type: str
    action: str
    frequency: str
    threshold: float
    count: int
    duration: int
    signal: str


TIME_ELAPSED = "time_elapsed"
SUGGEST = "suggest_checkpoint"
# The types that stand for a level, and the key that holds its number.
BOUND = {
    "context_warning": ("context", WARNING, "threshold"),
    "context_alert": ("context", ALERT, "threshold"),
    "context_stop": ("context", STOP, "threshold"),
    "cost_warning": ("cost", WARNING, "threshold"),
    "cost_alert": ("cost", ALERT, "threshold"),
    "cost_stop": ("cost", STOP, "threshold"),
    "error_threshold": ("errors", ALERT, "count"),
}
DEFAULTS: list[Trigger] = [
    {"type": "task_complete", "frequency": "every", "action": "update_state"},
    {"type": "phase_complete", "frequency": "every", "action": "checkpoint_and_verify"},
    {"type": "context_warning", "threshold": 30, "action": "log_warning"},
    {"type": "context_alert", "threshold": 40, "action": "prepare_checkpoint"},
    {"type": "context_stop", "threshold": 50, "action": "force_checkpoint"},
    {"type": "cost_warning", "threshold": 10, "action": "log_warning"},
    {"type": "cost_alert", "threshold": 25, "action": "pause_for_ack"},
    {"type": "cost_stop", "threshold": 50, "action": "hard_stop"},
    {"type": "error_threshold", "count": 3, "action": "pause_and_investigate"},
    {"type": TIME_ELAPSED, "duration": 30 * MINUTE, "action": SUGGEST},
    {"type": "user_interrupt", "signal": "Ctrl+C", "action": "graceful_checkpoint"},
]
NAMES = tuple(trigger["type"] for trigger in DEFAULTS)
# What else an entry may ask for: to stop at the alert already, as the upstream commands do for the
# context (AMB-PILOT-03).
STRICTER = {"context_alert": FORCE, "cost_alert": HARD_STOP, "error_threshold": HARD_STOP}


def read(section: Any, where: str) -> list[Trigger]:
    """The entries that a file gives, checked; its scalars are text."""
    if section in (None, ""):
        return []
    if not isinstance(section, list):
        raise bad(where, "must be a list of entries, each with a type")
    found: list[Trigger] = []
    for position, entry in enumerate(section):
        key = f"{where}[{position}]"
        if not isinstance(entry, dict):
            raise bad(key, "must be a table with a type")
        trigger = _entry(entry, key)
        if trigger["type"] in [other["type"] for other in found]:
            raise bad(f"{key}.type", f"{trigger['type']} stands there twice")
        found.append(trigger)
    return found


def _entry(entry: dict[str, Any], key: str) -> Trigger:
    type = entry.get("type")
    if type not in NAMES:
        raise bad(f"{key}.type", f"{type!r:.40} is unknown", hint=nearest(str(type), NAMES))
    default = DEFAULTS[NAMES.index(type)]
    trigger: Trigger = {**default}
    for name, text in entry.items():
        place = f"{key}.{name} ({type})"
        if name not in default:
            raise bad(place, "is unknown", hint=nearest(str(name), list(default)))
        if not isinstance(text, str):
            raise bad(place, "must be one value")
        if name == "action":
            trigger["action"] = _action(type, text, place)
        elif name == "threshold":
            trigger["threshold"] = thresholds.parse_amount(BOUND[type][0], text, place)
        elif name == "count":
            trigger["count"] = int(thresholds.parse_amount("errors", text, place))
        elif name == "duration":
            trigger["duration"] = _duration(text, place)
        elif name in ("frequency", "signal") and text != default[name]:  # type: ignore[literal-required]
            raise bad(place, f"can only be {default[name]}")  # type: ignore[literal-required]
    return trigger


def _action(type: str, text: str, place: str) -> str:
    own = DEFAULTS[NAMES.index(type)]["action"]
    allowed = [own, STRICTER[type]] if type in STRICTER else [own]
    if text not in allowed:
        raise bad(place, f"must be {' or '.join(allowed)}, not {text!r:.40}")
    return text


def _duration(text: str, place: str) -> int:
    try:
        span = thresholds.duration(text)
    except ValueError as problem:
        raise bad(place, str(problem)) from None
    if span < MINUTE:
        raise bad(place, "must be at least 1min")
    return span


def limits_in(section: Any, triggers: list[Trigger], given: Limits, where: str) -> Limits:
    """The numbers that the entries of a file give to their levels. The same number may stand in
    `thresholds` too; another one is an error that names both."""
    limits: Limits = {level: {} for level in thresholds.LEVELS}
    for position, trigger in enumerate(triggers):
        if trigger["type"] not in BOUND:
            continue
        type, level, name = BOUND[trigger["type"]]
        if name not in section[position]:
            continue
        number = float(trigger[name])  # type: ignore[literal-required]
        other = given.get(level, {}).get(type)
        if other is not None and other != number:
            raise bad(
                f"{where}[{position}].{name} ({trigger['type']})",
                f"is {number:g}, and thresholds.{level}.{type} is {other:g}",
                hint="They are one number; write it once.",
            )
        limits[level][type] = number
    return limits


def in_force(given: list[Trigger]) -> list[Trigger]:
    """Every trigger: those of the file in the place of the protocol's own."""
    by_type = {trigger["type"]: trigger for trigger in given}
    return [by_type.get(trigger["type"], trigger) for trigger in DEFAULTS]


def actions_of(triggers: list[Trigger]) -> dict[str, dict[str, str]]:
    """What is done at each level of each type."""
    actions = {level: {**of} for level, of in thresholds.ACTIONS.items()}
    for trigger in triggers:
        if trigger["type"] in BOUND:
            type, level, _ = BOUND[trigger["type"]]
            actions[level][type] = trigger["action"]
    return actions


def pause_of(triggers: list[Trigger]) -> int:
    """After how long a checkpoint is suggested."""
    return next(one["duration"] for one in triggers if one["type"] == TIME_ELAPSED)
