"""Three levels for four quantities: the protocol's numbers, what each level does, and who set which.

Reaching a number is enough (`>=`), and only the highest level counts.
"""

from __future__ import annotations

from holdfast.budgets.rules.units import UNITS
from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    # level, then type: the number from which on the level holds.
    Limits = dict[str, dict[str, float]]
    # level, then type: which layer set the number.
    Sources = dict[str, dict[str, str]]

# In the order in which they are looked at; PILOT-57.
TYPES = ("cost", "context", "variance", "errors")
WARNING, ALERT, STOP = LEVELS = ("warning", "alert", "stop")

DEFAULTS: Limits = {
    WARNING: {"cost": 10.0, "context": 30, "variance": 20, "errors": 2},
    ALERT: {"cost": 25.0, "context": 40, "variance": 30, "errors": 3},
    STOP: {"cost": 50.0, "context": 50, "variance": 50, "errors": 5},
}
LOG_WARNING, PREPARE, PAUSE = "log_warning", "prepare_checkpoint", "pause_for_ack"
REVIEW, INVESTIGATE = "pause_for_review", "pause_and_investigate"
HARD_STOP, FORCE, ESCALATE = "hard_stop", "force_checkpoint", "escalate_to_user"
ACTIONS: dict[str, dict[str, str]] = {
    WARNING: dict.fromkeys(TYPES, LOG_WARNING),
    ALERT: {"cost": PAUSE, "context": PREPARE, "variance": REVIEW, "errors": INVESTIGATE},
    STOP: {"cost": HARD_STOP, "context": FORCE, "variance": ESCALATE, "errors": HARD_STOP},
}
# What a level's action means for whoever is at work.
STOPPING = (HARD_STOP, FORCE, ESCALATE)


def level_of(limits: Limits, type: str, value: float) -> str | None:
    """The highest level that a value has reached, if any."""
    for level in reversed(LEVELS):
        if value >= limits[level][type]:
            return level
    return None


def variance_of(estimated: float, actual: float) -> float | None:
    """By how many percent the actual is over the estimate; None without an estimate to compare with."""
    if estimated <= 0:
        return None
    return (actual - estimated) / estimated * 100


def bad(key: str, why: str, *, hint: str = "") -> HoldfastError:
    """The refusal of a configuration, with the key that is wrong."""
    return HoldfastError(f"{key} {why}.", hint=hint or "Correct it there.", kind="bad_config")


def read(section: Any, where: str) -> Limits:
    """The part of the numbers that a file's `thresholds` gives; its scalars are text."""
    limits: Limits = {}
    for level, numbers in _table(section, where, LEVELS).items():
        for type, text in _table(numbers, f"{where}.{level}", TYPES).items():
            key = f"{where}.{level}.{type}"
            if not isinstance(text, str):
                raise bad(key, "must be one number")
            limits.setdefault(level, {})[type] = parsed(type, text, key)
    return limits


def parsed(type: str, text: str, key: str) -> float:
    try:
        return UNITS[type](text)
    except ValueError as problem:
        raise bad(key, str(problem)) from None


def _table(section: Any, where: str, known: Sequence[str]) -> Mapping[str, Any]:
    if section in (None, ""):
        return {}
    if not isinstance(section, dict):
        raise bad(where, f"must be a table of {', '.join(known)}")
    for name in section:
        if name not in known:
            raise bad(f"{where}.{name}", "is unknown", hint=nearest(str(name), known))
    return section


def nearest(name: str, known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known are: {', '.join(known)}."


def combined(weaker: Limits, stronger: Limits) -> Limits:
    """Both, number by number; where both have one, the stronger one's."""
    both: Limits = {level: dict(numbers) for level, numbers in weaker.items()}
    for level, numbers in stronger.items():
        both.setdefault(level, {}).update(numbers)
    return both


def without(limits: Limits, type: str) -> Limits:
    """The numbers of all types but one."""
    return {
        level: {other: number for other, number in numbers.items() if other != type}
        for level, numbers in limits.items()
    }


def below(some: Limits, others: Limits) -> Limits:
    """Those of the numbers that are lower than others: a flag that was kept raises nothing."""
    return {
        level: {type: number for type, number in numbers.items() if number < others[level][type]}
        for level, numbers in some.items()
    }


def stacked(layers: Sequence[tuple[str, Limits]]) -> tuple[Limits, Sources]:
    """Later layers win, number by number; who won."""
    limits: Limits = {level: {} for level in LEVELS}
    sources: Sources = {level: {} for level in LEVELS}
    for source, given in layers:
        for level, numbers in given.items():
            limits[level].update(numbers)
            sources[level].update(dict.fromkeys(numbers, source))
    return limits, sources


def layered(layers: Sequence[tuple[str, Limits]]) -> tuple[Limits, Sources]:
    """The same, in order: a warning above its alert, or an alert above its stop, is an error that
    names who said so."""
    limits, sources = stacked(layers)
    for lower, higher in ((WARNING, ALERT), (ALERT, STOP)):
        for type in TYPES:
            if limits[lower][type] > limits[higher][type]:
                raise bad(
                    f"thresholds.{lower}.{type}",
                    f"({limits[lower][type]:g}, {sources[lower][type]}) is above "
                    f"thresholds.{higher}.{type} ({limits[higher][type]:g}, {sources[higher][type]})",
                    hint="A warning is at most its alert, an alert at most its stop.",
                )
    return limits, sources
