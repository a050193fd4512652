"""Lengths of time in words."""

from __future__ import annotations

import pytest

from holdfast.kernel.durations import describe_age, describe_minutes, describe_span


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (-5, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min 00 s"),
        (3_599_000, "59 min 59 s"),
        (3_840_000, "1 h 04 min"),
        (93_600_000, "26 h 00 min"),
    ],
)
def test_a_span_has_its_two_largest_units(milliseconds: int, shown: str) -> None:
    assert describe_span(milliseconds) == shown


def test_an_age_has_its_largest_unit() -> None:
    seconds = (0, 59, 60, 3599, 3600, 86_399, 86_400, 200_000)
    assert [describe_age(one) for one in seconds] == [
        (0, "s"),
        (59, "s"),
        (1, "min"),
        (59, "min"),
        (1, "h"),
        (23, "h"),
        (1, "d"),
        (2, "d"),
    ]


def test_minutes_become_hours_at_two_hours() -> None:
    assert [describe_minutes(one) for one in (0, 119, 120, 179, 180)] == [
        "0 min",
        "119 min",
        "2 h",
        "2 h",
        "3 h",
    ]
