"""How long a tracker wants us to wait, from the headers of its answer."""

from __future__ import annotations

from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SHORTEST_WAIT = 1.0
LONGEST_WAIT = 3600.0
USUAL_WAIT = 60.0  # when nothing is said; what Linear's own importer waits


def wait_seconds(headers: Mapping[str, str], resets: Iterable[int] = ()) -> float:
    """The longer of Retry-After and the latest reset (in milliseconds since the epoch)."""
    now = clock.now()
    waits = [(instant - now) / 1000 for instant in resets]
    asked = _retry_after(headers.get("retry-after", ""), now)
    if asked is not None:
        waits.append(asked)
    return min(max(*waits, SHORTEST_WAIT), LONGEST_WAIT) if waits else USUAL_WAIT


def exhausted(headers: Mapping[str, str], families: Iterable[str], milliseconds: int) -> list[int]:
    """The resets of the header families of which nothing remains, in milliseconds."""
    resets = []
    for family in families:
        reset = headers.get(f"{family}-reset", "")
        if headers.get(f"{family}-remaining", "").strip() == "0" and is_count(reset):
            resets.append(int(reset) * milliseconds)
    return resets


def is_count(text: str) -> bool:
    """Whether it is a whole number of a length that a header may have."""
    return text.isascii() and text.isdigit() and len(text) < 20


def _retry_after(text: str, now: int) -> float | None:
    """Seconds, or a date as RFC 9110 allows too."""
    text = text.strip()
    if is_count(text):
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp() - now / 1000
    except (ValueError, OverflowError):
        return None
