"""Points where all agents wait for each other, and how long the first of them has waited."""

from __future__ import annotations

from holdfast.fleet.rules.model import SYNC_POINTS
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypedDict

    from holdfast.fleet.rules.model import Arrival

    class Standing(TypedDict):
        """`waited` is in milliseconds; `soft` and `hard` say which limit it has reached."""

        state: Literal["WAITING", "COMPLETE"]
        missing: list[str]
        waited: int
        soft: bool
        hard: bool


def standing(point: str, arrivals: Mapping[str, Arrival | None], now: int) -> Standing:
    """Who is not there yet, measured from the first arrival. One who waits at another point is not
    there. Once all are, the time is that between the first and the last."""
    if point not in SYNC_POINTS:
        raise Usage(
            f"There is no sync point {point!r}.", hint=f"Known are: {', '.join(SYNC_POINTS)}."
        )
    there = {
        agent: arrival
        for agent, arrival in arrivals.items()
        if arrival is not None and arrival["point"] == point
    }
    missing = [agent for agent in arrivals if agent not in there]
    times = [clock.parse(arrival["at"]) for arrival in there.values()]
    until = now if missing else max(times, default=now)
    waited = max(0, until - min(times, default=until))
    complete = bool(there) and not missing
    soft, hard = SYNC_POINTS[point]
    return {
        "state": "COMPLETE" if complete else "WAITING",
        "missing": missing,
        "waited": waited,
        "soft": not complete and waited >= soft,
        "hard": not complete and waited >= hard,
    }
