"""Three levels for the protocol's four quantities and five of people's own: the numbers, what each level
does, and who set which.

Amounts are written as people write them: `$10`, `30%`, `3`, `30min`. All others are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from holdfast.kernel.clock import HOUR, MINUTE
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.money import cut_off, dollars
from holdfast.kernel.text import nearest

# level, then type: the number from which on the level holds.
Limits = dict[str, dict[str, float]]
# level, then type: which layer set the number.
Sources = dict[str, dict[str, str]]

SECOND = 1000
# A longer number is a slip of the hand, and more than a float holds exactly.
MOST_DIGITS = 12
_SPANS = {"s": SECOND, "sec": SECOND, "min": MINUTE, "m": MINUTE, "h": HOUR}
WARNING, ALERT, STOP = LEVELS = ("warning", "alert", "stop")
LOG_WARNING, PREPARE, PAUSE = "log_warning", "prepare_checkpoint", "pause_for_ack"
REVIEW, INVESTIGATE = "pause_for_review", "pause_and_investigate"
HARD_STOP, FORCE, ESCALATE = "hard_stop", "force_checkpoint", "escalate_to_user"
# What a level's action means for the session at work.
STOPPING = (HARD_STOP, FORCE, ESCALATE)


def money(text: str) -> float:
    """`$10`, `10` or `12.50`, in dollars."""
    return _number(text, text.strip().removeprefix("$"), "an amount such as $10 or 12.50")


def percent(text: str) -> float:
    """`30%` or `30`."""
    return _number(text, text.strip().removesuffix("%"), "a percentage such as 30%")


def count(text: str) -> int:
    """A whole number."""
    number = _number(text, text.strip(), "a whole number such as 3")
    if number != int(number) or "." in text:
        raise ValueError(f"must be a whole number such as 3, not {text!r:.40}")
    return int(number)


def duration(text: str) -> int:
    """`30min`, `90s` or `2h`, in milliseconds."""
    wanted = "a duration such as 30min, 90s or 2h"
    bare = text.strip()
    digits = bare.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = _SPANS.get(bare[len(digits) :])
    if unit is None:
        raise ValueError(f"must be {wanted}, not {text!r:.40}")
    return int(_number(text, digits.rstrip(), wanted) * unit)


def minutes(text: str) -> float:
    """`90`, `90min` or `2h`, in minutes."""
    bare = text.strip()
    return duration(f"{bare}min" if bare[-1:].isdigit() else bare) / MINUTE


def tokens(text: str) -> int:
    """`500000`, `500k` or `2M`."""
    wanted = "a number of tokens such as 500000, 500k or 2M"
    bare = text.strip()
    factor = {"k": 1_000, "m": 1_000_000}.get(bare[-1:].lower(), 1)
    number = _number(text, bare[:-1] if factor > 1 else bare, wanted) * factor
    if number != int(number):
        raise ValueError(f"must be {wanted}, not {text!r:.40}")
    return int(number)


def _number(text: str, bare: str, wanted: str) -> float:
    """Digits with at most one point: no sign, no comma, no exponent, neither NaN nor infinity."""
    whole, _, fraction = bare.partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdigit() and whole and len(digits) <= MOST_DIGITS):
        raise ValueError(f"must be {wanted}, not {text!r:.40}")
    if bare.endswith("."):
        raise ValueError(f"must be {wanted}, not {text!r:.40}")
    return float(bare)


def show_percent(value: float) -> str:
    return f"{cut_off(value).rstrip('0').rstrip('.')}%"


def show_whole(value: float) -> str:
    return f"{int(value):,}"


class Quantity(NamedTuple):
    """What a budget can limit: how a number of it is read and shown, its name in `thresholds.json`, the
    protocol's limits and actions at the three levels. Without limits it limits nothing until a person sets one.

    `is_lasting`: it only grows, so that after a stop a higher limit is needed. `is_share`: a percentage of a
    single session, which does not add up over those of a run."""

    name: str
    read: Callable[[str], float]
    show: Callable[[float], str]
    in_file: str
    limits: tuple[float, float, float] | None = None
    actions: tuple[str, str, str] = (LOG_WARNING, PAUSE, HARD_STOP)
    is_lasting: bool = False
    is_share: bool = False


# In the order in which they are looked at (PILOT-57): the protocol's four, then what people ask for beside them.
QUANTITIES = {
    one.name: one
    for one in (
        Quantity("cost", money, dollars, "cost", (10.0, 25.0, 50.0), is_lasting=True),
        Quantity("context", percent, show_percent, "context_percent", (30, 40, 50), (LOG_WARNING, PREPARE, FORCE)),
        Quantity("variance", percent, show_percent, "variance_percent", (20, 30, 50), (LOG_WARNING, REVIEW, ESCALATE), is_lasting=True),
        Quantity("errors", count, show_whole, "error_count", (2, 3, 5), (LOG_WARNING, INVESTIGATE, HARD_STOP)),
        Quantity("turns", count, show_whole, "turns", is_lasting=True),
        Quantity("minutes", minutes, "{:.0f} min".format, "minutes", is_lasting=True),
        Quantity("tokens", tokens, show_whole, "tokens", is_lasting=True),
        Quantity("subagent", percent, show_percent, "subagent_percent", is_lasting=True, is_share=True),
        Quantity("quota", percent, show_percent, "quota_percent", is_share=True),
    )
}  # fmt: skip
ALL_TYPES = tuple(QUANTITIES)
TYPES = tuple(name for name, one in QUANTITIES.items() if one.limits)
EXTRA_TYPES = tuple(name for name, one in QUANTITIES.items() if not one.limits)
DEFAULTS: Limits = {
    level: {name: one.limits[at] for name, one in QUANTITIES.items() if one.limits}
    for at, level in enumerate(LEVELS)
}
ACTIONS = {
    level: {name: one.actions[at] for name, one in QUANTITIES.items()}
    for at, level in enumerate(LEVELS)
}


def is_number(value: object) -> bool:
    """Whether it is a finite one, and no truth value."""
    return type(value) in (int, float) and abs(float(value)) < float("inf")  # type: ignore[arg-type]


def is_amount(value: object) -> bool:
    """Whether a program's number can be one: finite and not negative."""
    return is_number(value) and float(value) >= 0  # type: ignore[arg-type]


def level_of(limits: Limits, type: str, value: float) -> str | None:
    """The highest level that a value has reached, if any."""
    for level in reversed(LEVELS):
        if type in limits[level] and value >= limits[level][type]:
            return level
    return None


def number_at(limits: Limits, level: str, type: str) -> float:
    """The number of a level; infinity where there is none."""
    return limits[level].get(type, float("inf"))


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
        for type, text in _table(numbers, f"{where}.{level}", ALL_TYPES).items():
            key = f"{where}.{level}.{type}"
            if not isinstance(text, str):
                raise bad(key, "must be one number")
            limits.setdefault(level, {})[type] = parse_amount(type, text, key)
    return limits


def parse_amount(type: str, text: str, key: str) -> float:
    try:
        return QUANTITIES[type].read(text)
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


def combine(weaker: Limits, stronger: Limits) -> Limits:
    """Both, number by number; where both have one, the stronger one's."""
    both: Limits = {level: dict(numbers) for level, numbers in weaker.items()}
    for level, numbers in stronger.items():
        both.setdefault(level, {}).update(numbers)
    return both


def select(limits: Limits, keeps: Callable[[str, str, float], bool]) -> Limits:
    """Return the numbers of which `keeps(level, type, number)` is true."""
    return {
        level: {type: number for type, number in numbers.items() if keeps(level, type, number)}
        for level, numbers in limits.items()
    }


def drop_type(limits: Limits, type: str) -> Limits:
    """The numbers of all types but one."""
    return select(limits, lambda _, other, number: other != type)


def keep_lower(some: Limits, others: Limits) -> Limits:
    """Those of the numbers that are lower than others: a flag that was kept raises nothing."""
    return select(some, lambda level, kind, number: number < number_at(others, level, kind))


def stack(layers: Sequence[tuple[str, Limits]]) -> tuple[Limits, Sources]:
    """Later layers win, number by number; who won."""
    limits: Limits = {level: {} for level in LEVELS}
    sources: Sources = {level: {} for level in LEVELS}
    for source, given in layers:
        for level, numbers in given.items():
            limits[level].update(numbers)
            sources[level].update(dict.fromkeys(numbers, source))
    return limits, sources


def stack_in_order(layers: Sequence[tuple[str, Limits]], *, default: str) -> tuple[Limits, Sources]:
    """The same, in order. Two numbers that people set and that contradict are an error, which names who
    said so. A number of the layer `default` gives way to theirs: one number is a budget."""
    limits, sources = stack(layers)
    for type in ALL_TYPES:
        known = [level for level in LEVELS if type in limits[level]]
        chosen = [level for level in known if sources[level][type] != default]
        for at, lower in enumerate(chosen[:-1]):
            higher = chosen[at + 1]
            if limits[lower][type] > limits[higher][type]:
                raise _contradiction(limits, sources, lower, higher, type)
        for level in known:
            if level not in chosen:
                _give_way(limits, sources, level, type, chosen)
    return limits, sources


def _give_way(
    limits: Limits, sources: Sources, level: str, type: str, chosen: Sequence[str]
) -> None:
    at = LEVELS.index(level)
    above = [one for one in chosen if LEVELS.index(one) > at]
    below = [one for one in chosen if LEVELS.index(one) < at]
    if above and limits[level][type] > limits[above[0]][type]:
        follows = above[0]
    elif below and limits[level][type] < limits[below[-1]][type]:
        follows = below[-1]
    else:
        return
    limits[level][type] = limits[follows][type]
    sources[level][type] = f"as {follows}.{type}"


def tighten(recorded: Limits, said: Limits) -> Limits:
    """Return a person's own limits that are on record, with those of the numbers said that are lower than what
    holds without them: what a process brings by itself raises nothing."""
    layers = (("", DEFAULTS), ("recorded", recorded))
    base = stack_in_order(layers, default="")[0]
    both = combine({level: {} for level in LEVELS}, combine(recorded, keep_lower(said, base)))
    return {level: numbers for level, numbers in put_in_order(both).items() if numbers}


def put_in_order(limits: Limits) -> Limits:
    """The same numbers, no warning above its alert and no alert above its stop: the stop counts."""
    found: Limits = {level: dict(numbers) for level, numbers in limits.items()}
    for lower, higher in ((ALERT, STOP), (WARNING, ALERT)):
        for type, number in found[lower].items():
            found[lower][type] = min(number, found[higher].get(type, number))
    return found


def _contradiction(
    limits: Limits, sources: Sources, lower: str, higher: str, type: str
) -> HoldfastError:
    return bad(
        f"thresholds.{lower}.{type}",
        f"({limits[lower][type]:g}, {sources[lower][type]}) is above "
        f"thresholds.{higher}.{type} ({limits[higher][type]:g}, {sources[higher][type]})",
        hint="A warning is at most its alert, an alert at most its stop.",
    )


def read_what_is_sound(section: Any) -> Limits:
    """The numbers of a file's `thresholds` that can be understood, whatever else stands there."""
    limits: Limits = {level: {} for level in LEVELS}
    for level, numbers in section.items() if isinstance(section, dict) else ():
        for type, text in numbers.items() if isinstance(numbers, dict) else ():
            try:
                limits[level][type] = QUANTITIES[type].read(text)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
    return limits
