"""Waiting for each other: who is missing, and which limit was reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.fleet.sync import assess
from holdfast.kernel import clock
from holdfast.kernel.clock import HOUR, MINUTE

if TYPE_CHECKING:
    from holdfast.fleet.rules.model import Arrival

FIRST = clock.parse("2026-01-15T10:00:00Z")


def arrived(after: int, point: str = "S2-S3") -> Arrival:
    return {"point": point, "at": clock.stamp(FIRST + after)}


@pytest.mark.parametrize(
    ("point", "soft", "hard"), [("S2-S3", 4 * HOUR, 6 * HOUR), ("S4-S5", 2 * HOUR, 3 * HOUR)]
)
def test_the_limits_are_reached_by_the_first_who_waits(point: str, soft: int, hard: int) -> None:
    arrivals = {"Agent-Primary": arrived(HOUR, point), "Secondary-A": arrived(0, point), "B": None}
    for waited, is_soft, is_hard in (
        (soft - 1, False, False),
        (soft, True, False),
        (hard - 1, True, False),
        (hard, True, True),
    ):
        found = assess(point, arrivals, FIRST + waited)
        assert (found["waited"], found["soft"], found["hard"]) == (waited, is_soft, is_hard)
        assert (found["state"], found["missing"]) == ("WAITING", ["B"])


def test_all_there_is_complete_however_long_it_took() -> None:
    arrivals = {"Agent-Primary": arrived(7 * HOUR), "Secondary-A": arrived(0)}
    assert assess("S2-S3", arrivals, FIRST + 20 * HOUR) == {
        "state": "COMPLETE",
        "missing": [],
        "waited": 7 * HOUR,
        "soft": False,
        "hard": False,
    }


def test_who_waits_elsewhere_is_missing() -> None:
    arrivals = {"Agent-Primary": arrived(0), "Secondary-A": arrived(0, "S4-S5")}
    assert assess("S2-S3", arrivals, FIRST)["missing"] == ["Secondary-A"]


def test_before_anybody_arrives_nobody_has_waited() -> None:
    nobody: dict[str, Arrival | None] = {"Agent-Primary": None}
    assert assess("S2-S3", nobody, FIRST + 9 * HOUR)["waited"] == 0
    assert assess("S2-S3", {}, FIRST)["state"] == "WAITING"


def test_a_clock_that_stepped_back_is_no_wait() -> None:
    arrivals = {"Agent-Primary": arrived(0), "Secondary-A": None}
    assert assess("S2-S3", arrivals, FIRST - MINUTE)["waited"] == 0
