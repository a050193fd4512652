"""Lengths of time in words for people."""

from __future__ import annotations

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def describe_span(milliseconds: int) -> str:
    """Return a span with its two largest units: `1 h 04 min`, `3 min 20 s`, `12 s`."""
    seconds = max(milliseconds // 1000, 0)
    if seconds >= 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
    return f"{seconds // 60} min {seconds % 60:02d} s" if seconds >= 60 else f"{seconds} s"


def describe_age(seconds: int) -> tuple[int, str]:
    """Return an age in its largest unit: `(3, "min")`, of `d`, `h`, `min` and `s`."""
    for size, name in _UNITS:
        if seconds >= size:
            return seconds // size, name
    return seconds, "s"


def describe_minutes(minutes: int) -> str:
    """Return minutes as such, and from two hours on in hours: `119 min`, `2 h`."""
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
