"""Amounts as people write them: `$10`, `30%`, `3`, `30min`. What is none of these is refused."""

from __future__ import annotations

from holdfast.kernel.clock import HOUR, MINUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SECOND = 1000
# A longer number is a slip of the hand, and more than a float holds exactly.
MOST_DIGITS = 12
# Money is counted in millionths: sums of 0.1 must reach 25 exactly.
MILLIONTHS = 1_000_000
_SPANS = {"s": SECOND, "sec": SECOND, "min": MINUTE, "m": MINUTE, "h": HOUR}


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


def _number(text: str, bare: str, wanted: str) -> float:
    """Digits with at most one point: no sign, no comma, no exponent, neither NaN nor infinity."""
    whole, _, fraction = bare.partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdigit() and whole and len(digits) <= MOST_DIGITS):
        raise ValueError(f"must be {wanted}, not {text!r:.40}")
    if bare.endswith("."):
        raise ValueError(f"must be {wanted}, not {text!r:.40}")
    return float(bare)


UNITS: dict[str, Callable[[str], float]] = {
    "cost": money,
    "context": percent,
    "variance": percent,
    "errors": count,
}


def is_number(value: object) -> bool:
    """Whether it is a finite one, and no truth value."""
    return type(value) in (int, float) and abs(float(value)) < float("inf")  # type: ignore[arg-type]


def is_amount(value: object) -> bool:
    """Whether a program's number can be one: finite and not negative."""
    return is_number(value) and float(value) >= 0  # type: ignore[arg-type]


def millionths(amount: float) -> int:
    return round(amount * MILLIONTHS)


def from_millionths(amount: int) -> float:
    return amount / MILLIONTHS
