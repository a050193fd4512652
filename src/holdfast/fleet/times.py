"""Times as people say them."""

from __future__ import annotations

import time

from holdfast.kernel import clock
from holdfast.kernel.errors import Usage


def until(text: str, now: int) -> str:
    """`15:40` is the next time that a clock here shows that; a whole UTC time is itself."""
    try:
        return clock.stamp(clock.parse(text))
    except ValueError:
        pass
    hour, colon, minute = text.partition(":")
    if not (colon and hour.isdigit() and minute.isdigit() and int(hour) < 24 and int(minute) < 60):
        raise Usage(f"{text!r} is no time.", hint="15:40, or 2026-01-31T15:40:00Z")
    today = time.localtime(now // 1000)
    then = time.mktime((*today[:3], int(hour), int(minute), 0, 0, 0, -1))
    if then * 1000 <= now:
        then = time.mktime((*today[:2], today[2] + 1, int(hour), int(minute), 0, 0, 0, -1))
    return clock.stamp(int(then * 1000))
