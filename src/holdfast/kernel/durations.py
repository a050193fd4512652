"""Lengths of time in words for people."""

from __future__ import annotations

import time

from holdfast.kernel.clock import DAY, HOUR, MINUTE, instant_of
from holdfast.kernel.errors import Usage

SPANS = {"min": MINUTE, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
# Times of day and days as a person types them; they are of this machine's zone.
FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S")
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


def instant_since(text: str, now: int) -> int:
    """Return the instant that `--since` names: a span before now, the last time that a clock showed this, or a day."""
    unit = text.lstrip("0123456789")
    count = text[: len(text) - len(unit)]
    if count.isascii() and count and len(count) < 18 and unit in SPANS:
        return max(1, now - int(count) * SPANS[unit])
    instant = _clock_time(text, now) or _local_time(text)
    if instant is None or instant > now:
        is_ahead = instant is not None
        raise Usage(
            f"--since is {'a time to come' if is_ahead else 'no time'}: {text!r:.40}.",
            hint="Such as 30min, 12h, 7d, 4w, 18:00, 2026-11-18, or 2026-11-18T18:00",
        )
    return instant


def _clock_time(text: str, now: int) -> int | None:
    """Return when the clock showed `18:00` last."""
    try:
        wanted = time.strptime(text, "%H:%M")
    except ValueError:
        return None
    today = time.localtime(now / 1000)
    for days in (0, 1):
        day = (today.tm_year, today.tm_mon, today.tm_mday - days)
        instant = int(time.mktime((*day, wanted.tm_hour, wanted.tm_min, 0, 0, 0, -1)) * 1000)
        if instant <= now:
            break
    return instant


def _local_time(text: str) -> int | None:
    for form in FORMS:
        try:
            return int(time.mktime((*time.strptime(text, form)[:6], 0, 0, -1)) * 1000)
        except (ValueError, OverflowError):
            continue
    return instant_of(text) if "T" in text else None
