"""Time as an argument: milliseconds since the epoch, and the two ways we write it down."""

from __future__ import annotations

import time

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

# The seconds that were written out and the texts that were read last: one heartbeat asks for the same few a
# dozen times, and each takes as long as a statement of the journal.
MOST_KNOWN = 256
_stamps: dict[int, str] = {}
_instants: dict[str, int] = {}


def now() -> int:
    return time.time_ns() // 1_000_000


def stamp(instant: int) -> str:
    """`2026-11-15T19:11:30Z`, the form of every protocol's file."""
    second = instant // 1000
    text = _stamps.get(second)
    if text is None:
        text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
        if len(_stamps) >= MOST_KNOWN:
            _stamps.clear()
        _stamps[second] = text
    return text


def minute(at: str) -> str:
    """`2026-11-15 19:11 UTC`: a time that was written down, for a reader. Another zone's stays as it is."""
    return f"{at[:10]} {at[11:16]} UTC" if at.endswith("Z") and len(at) > 16 else at


def precise(instant: int) -> str:
    """`2026-11-15T19:11:30.042Z`, the form of the journal; sorts as text."""
    return f"{stamp(instant)[:-1]}.{instant % 1000:03d}Z"


def parse(text: str) -> int:
    """The instant of either form; ValueError when it is neither."""
    instant = _instants.get(text)
    if instant is None:
        instant = _parse(text)
        if len(_instants) >= MOST_KNOWN:
            _instants.clear()
        _instants[text] = instant
    return instant


def instant_of(text: object) -> int | None:
    """Return the instant of a time as other programs write it: without a zone it is UTC, an offset is counted in.
    None for what is no time."""
    if not isinstance(text, str):
        return None
    at, shift = text.strip().replace(" ", "T", 1).replace("z", "Z"), 0
    sign, zone = at[-6:-5], at[-5:]
    if sign in ("+", "-") and zone[2:3] == ":" and (zone[:2] + zone[3:]).isdigit():
        shift = (int(zone[:2]) * HOUR + int(zone[3:]) * MINUTE) * (1 if sign == "+" else -1)
        at = at[:-6]
    try:
        return parse(at if at.endswith("Z") else f"{at}Z") - shift
    except ValueError:
        return None


def _parse(text: str) -> int:
    """Written out by hand because `datetime` and `strptime` each cost a hook more than its
    whole database transaction."""
    # 0123456789012345678
    # 2026-11-15T19:11:30
    date, fraction = text[:19], text[19:-1]
    if (
        len(date) != 19
        or not text.endswith("Z")
        or (date[4], date[7], date[10], date[13], date[16]) != ("-", "-", "T", ":", ":")
        or (
            fraction
            and not (fraction[0] == "." and fraction[1:].isascii() and fraction[1:].isdigit())
        )
    ):
        raise ValueError(f"not a UTC time: {text!r}")
    parts = (date[:4], date[5:7], date[8:10], date[11:13], date[14:16], date[17:19])
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"not a UTC time: {text!r}")
    year, month, day, hour, minute, second = map(int, parts)
    seconds = ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    if not 1 <= month <= 12 or stamp(seconds * 1000)[:19] != date:
        raise ValueError(f"no such time: {text!r}")
    return seconds * 1000 + int((fraction[1:4] or "0").ljust(3, "0"))


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, counting years from March."""
    if month <= 2:
        year -= 1
    era_year = year % 400
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    day_of_era = era_year * 365 + era_year // 4 - era_year // 100 + day_of_year
    return year // 400 * 146_097 + day_of_era - 719_468


# Counts on while a laptop sleeps. Systems without it have a monotonic clock that does so.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Anchor:
    """What the server's clock said, and the time since boot when it did; both in milliseconds."""

    def __init__(self, server: int, elapsed: int) -> None:
        self.server = server
        self.elapsed = elapsed

    def now(self) -> int:
        return self.server + since_boot() - self.elapsed


def since_boot() -> int:
    return time.clock_gettime_ns(_SINCE_BOOT) // 1_000_000


def booted_at() -> int:
    """When this machine was started, by its present clock."""
    return now() - since_boot()
