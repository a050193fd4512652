"""Usage limits: what a client wrote when its vendor refused the next request, and when it may go on.

The clients give the time as they show it to a person: an instant, a duration, or a time of day with or
without a date and a zone. `read_reset` understands all of them; without a zone it is this machine's.
"""

from __future__ import annotations

from holdfast.clients.lines import object_in, read_piece, size_of
from holdfast.clients.table import CLIENTS, capability
from holdfast.kernel import clock
from holdfast.kernel.patterns import IGNORECASE, compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo
    from typing import Any

    from holdfast.clients.usage.model import UsageLimit


# The end of a transcript in which the last word of a turn stands.
TAIL = 256 * 1024
LINES_BEFORE = 10
# No vendor names a reset that is further away. What is further was misread.
FURTHEST = 60 * clock.DAY
_INSTANT = compile_later(r"\|\s*(\d{10})(?!\d)")
_SPAN = compile_later(
    r"\b(?:in|after)\s+((?:\d+(?:\.\d+)?\s*"
    r"(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])[\s,]*(?:and\s+)?)+)",
    IGNORECASE,
)
_PIECE = compile_later(r"(\d+(?:\.\d+)?)\s*([dhms])", IGNORECASE)
_UNITS = {"d": clock.DAY, "h": clock.HOUR, "m": clock.MINUTE, "s": 1000}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = compile_later(
    r"\b(?:resets?|again|until)\b[^0-9a-z]*(?:(?:at|on)\s+)?"
    rf"(?:({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(\d{{4}}))?,?\s+(?:at\s+)?)?"
    r"(\d{1,2})(?::(\d{2}))?\s*([ap])?\.?(?:m\b)?[^(0-9]{0,3}(?:\(([\w/+-]{1,40})\))?",
    IGNORECASE,
)


def read_reset(text: str, said_at: int) -> int:
    """The instant at which a limit ends, in milliseconds; 0 when the text names none."""
    instant = _INSTANT.search(text)
    if instant:
        return _sound(int(instant[1]) * 1000, said_at)
    span = _SPAN.search(text)
    if span:
        pieces = _PIECE.findall(span[1])
        length = sum(float(number) * _UNITS[unit.lower()] for number, unit in pieces)
        return _sound(said_at + int(length), said_at)
    found = _TIME.search(text)
    if found and (found[5] or found[6]):
        try:
            return _sound(_instant_of(found.groups(), said_at), said_at)
        except (ValueError, OverflowError):
            return 0
    return 0


def _sound(instant: int, said_at: int) -> int:
    return instant if said_at - clock.MINUTE <= instant <= said_at + FURTHEST else 0


def _instant_of(parts: tuple[str | None, ...], said_at: int) -> int:
    """The next moment after `said_at` with this time of day; ValueError when there is none."""
    from datetime import datetime, timedelta

    month, day, year, hour, minute, half, zone = parts
    said = datetime.fromtimestamp(said_at / 1000, _zone_of(zone))
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + (12 if half.lower() == "p" else 0)
    then = said.replace(hour=hours, minute=int(minute or 0), second=0, microsecond=0)
    if month:
        then = then.replace(month=_MONTHS.index(month.lower()) + 1, day=int(day or 1))
        if year:
            then = then.replace(year=int(year))
        elif then < said - timedelta(days=1):
            then = then.replace(year=then.year + 1)
    elif then < said - timedelta(minutes=1):
        then += timedelta(days=1)
    return int(then.timestamp() * 1000)


def _zone_of(name: str | None) -> tzinfo | None:
    """The zone that a client named; None, which is this machine's, where it named none."""
    if not name:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise ValueError(name) from None


def find_limit(client: str, transcript: str) -> UsageLimit | None:
    """The limit that a session stands at: the last word of its transcript, or None if it went on."""
    if client not in CLIENTS or not transcript:
        return None
    reader = capability(client, "limits")
    if reader is None:
        return None  # docs/how-to/clients.md says which clients write no limit down
    records = [record for line in _last_lines(transcript) if (record := object_in(line))]
    while records:
        found: UsageLimit | bool | None = reader.limit_of(records.pop())
        if isinstance(found, dict):
            found["resets_at"] = (
                found["resets_at"]
                or read_reset(found["says"], found["at"])
                or _told_before(client, records)
            )
            return found
        if found is False:
            return None  # the session went on after any limit
    return None


def _told_before(client: str, records: list[dict[str, Any]]) -> int:
    """Return the reset in the lines right before, for a client that tells it apart from the refusal."""
    reader = capability(client, "told resets")
    if reader is None:
        return 0
    found = (int(reader.reset_of(record)) for record in reversed(records[-LINES_BEFORE:]))
    return next((instant for instant in found if instant), 0)


def _last_lines(path: str) -> list[bytes]:
    start = max(0, size_of(path) - TAIL)
    lines = read_piece(path, TAIL, start).split(b"\n")
    return lines[1:] if start else lines
