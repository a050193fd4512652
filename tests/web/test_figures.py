"""Charts as numbers: pauses are cut, columns count, days are this machine's days."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from holdfast.kernel import clock
from holdfast.observe.course import Moment
from holdfast.web import figures

START = clock.parse("2026-11-16T09:00:00Z")


def edits(*minutes: float) -> list[Moment]:
    return [Moment("edit", int(START + one * clock.MINUTE), f"file {one}") for one in minutes]


def test_a_night_without_work_is_cut_and_named() -> None:
    course = figures.draw_course(edits(0, 10, 20, 20 + 12 * 60, 30 + 12 * 60), [])
    assert course is not None
    (pause,) = course["breaks"]
    assert pause["said"] == "12 h 00 min"
    places = [mark["x"] for mark in course["lanes"][1]["marks"]]
    steps = [round(after - before) for before, after in pairwise(places)]
    assert steps[0] == steps[1] == steps[3], "ten minutes are as wide on both sides of the pause"
    assert steps[2] == round(figures.PAUSE)
    assert places[2] < pause["at"] < places[3]


def test_short_pauses_stay() -> None:
    course = figures.draw_course(edits(0, 19, 25, 30), [])
    assert course is not None
    assert course["breaks"] == []


def test_moments_close_together_are_one_mark_with_their_number() -> None:
    course = figures.draw_course(
        edits(0, 15, *(31 + number / 1000 for number in range(40)), 45), []
    )
    assert course is not None
    marks = course["lanes"][1]["marks"]
    assert [mark["count"] for mark in marks] == [1, 1, 40, 1]
    assert [mark["share"] for mark in marks] == [0.03, 0.03, 1.0, 0.03]
    assert marks[2]["said"].endswith("and 37 more")


def test_a_single_moment_can_be_drawn() -> None:
    course = figures.draw_course(edits(3), [(clock.stamp(START), None)])
    assert course is not None
    assert course["cost"] is None
    assert sum(row["counts"][1] for row in course["rows"]) == 1


def test_nothing_is_no_chart() -> None:
    assert figures.draw_course([], []) is None
    assert figures.draw_days([("a", [(clock.stamp(START), None)])], START) is None


def test_costs_are_summed_by_this_machines_days() -> None:
    noon = datetime(2026, 11, 16, 12).timestamp()
    late = datetime(2026, 11, 15, 23, 59).timestamp()
    old = datetime(2026, 10, 1).timestamp()
    at = {name: clock.stamp(int(one * 1000)) for name, one in (("noon", noon), ("late", late), ("old", old))}  # fmt: skip
    found = figures.draw_days(
        [
            ("a", [(at["noon"], 1.0), (at["late"], 0.5), (at["old"], 9.0)]),
            ("b", [(at["noon"], 1.0), (at["noon"], None)]),
        ],
        int(noon * 1000),
    )
    assert found is not None
    assert found["total"] == 2.5
    *_, before, today = found["days"]
    assert (today["date"], today["cost"], today["sessions"]) == ("2026-11-16", 2.0, 2)
    assert (before["date"], before["cost"], before["sessions"]) == ("2026-11-15", 0.5, 1)
    assert today["is_top"]
    assert (today["height"], before["height"]) == (100.0, 25.0)
    assert found["days"][0]["label"] == "Nov 3"
