"""Staleness by the protocol's clock: whole minutes, strictly more than 30 and than 60."""

from __future__ import annotations

import pytest

from holdfast.fleet.rules.verdict import (
    age_minutes,
    is_due,
    is_minimal_work,
    line,
    liveness,
    too_old_lines,
)
from holdfast.kernel.clock import HOUR, MINUTE, instant_of, parse

LAST = parse("2026-01-15T14:30:00Z")


def scan_line(age: int, status: str = "", *, inclusive: bool = False) -> str:
    return line("Secondary-A", liveness(age, status, inclusive), age)


def after(clock: str) -> int:
    """So many minutes and seconds, `30:59`, after the last checkpoint."""
    minutes, seconds = map(int, clock.split(":"))
    return LAST + minutes * MINUTE + seconds * 1000


@pytest.mark.clause("FLEET-43")
@pytest.mark.parametrize(
    ("clock", "age"), [("0:00", 0), ("0:59", 0), ("1:00", 1), ("30:59", 30), ("600:00", 600)]
)
def test_an_age_is_in_whole_minutes(clock: str, age: int) -> None:
    assert age_minutes(LAST, after(clock)) == age
    assert age_minutes(LAST, after(clock) + 999) == age, "parts of a second change nothing"


@pytest.mark.clause("AMB-FLEET-20")
@pytest.mark.parametrize("ahead", [1, 999, 1000, MINUTE, HOUR, 9 * HOUR])
def test_a_time_in_the_future_is_no_age(ahead: int) -> None:
    assert age_minutes(LAST + ahead, LAST) == 0
    assert scan_line(age_minutes(LAST + ahead, LAST)) == "✅ Secondary-A: ACTIVE (0 min ago)"


@pytest.mark.clause("FLEET-44", "FLEET-45", "FLEET-46", "AMB-FLEET-01")
@pytest.mark.parametrize(
    ("clock", "strict", "inclusive"),
    [
        ("0:00", "ACTIVE", "ACTIVE"),
        ("29:59", "ACTIVE", "ACTIVE"),
        ("30:00", "ACTIVE", "WARNING"),
        ("30:59", "ACTIVE", "WARNING"),
        ("31:00", "WARNING", "WARNING"),
        ("59:59", "WARNING", "WARNING"),
        ("60:00", "WARNING", "STALE"),
        ("60:59", "WARNING", "STALE"),
        ("61:00", "STALE", "STALE"),
        ("540:00", "STALE", "STALE"),
    ],
)
def test_the_thresholds_of_the_script_and_of_its_sibling(
    clock: str, strict: str, inclusive: str
) -> None:
    age = age_minutes(LAST, after(clock))
    assert liveness(age, "IN_PROGRESS") == strict
    assert liveness(age, "IN_PROGRESS", inclusive=True) == inclusive


@pytest.mark.clause("FLEET-47")
@pytest.mark.parametrize(
    ("age", "text"),
    [
        (0, "✅ Secondary-A: ACTIVE (0 min ago)"),
        (30, "✅ Secondary-A: ACTIVE (30 min ago)"),
        (31, "⚠️ Secondary-A: WARNING (31 min) - May be slow"),
        (60, "⚠️ Secondary-A: WARNING (60 min) - May be slow"),
        (61, "❌ Secondary-A: STALE (61 min) - Likely crashed"),
    ],
)
def test_the_line_that_a_scan_prints(age: int, text: str) -> None:
    assert scan_line(age) == text


def test_the_line_by_the_siblings_reading() -> None:
    said = [scan_line(age, inclusive=True).split()[2] for age in (29, 30, 59, 60)]
    assert said == ["ACTIVE", "WARNING", "WARNING", "STALE"]


@pytest.mark.clause("AMB-FLEET-04")
def test_a_complete_agent_is_not_missed_and_its_line_is_by_the_clock() -> None:
    assert liveness(500, "COMPLETE") == "COMPLETE"
    assert scan_line(500, "COMPLETE") == "✅ Secondary-A: COMPLETE (500 min ago)"
    assert scan_line(500).startswith("❌ Secondary-A: STALE (500 min)")
    for status in ("IN_PROGRESS", "WAITING", "BLOCKED"):
        assert liveness(61, status) == "STALE"


@pytest.mark.clause("AMB-FLEET-24")
def test_a_status_that_the_protocol_does_not_know_is_watched_all_the_same() -> None:
    assert [liveness(age, "PAUSED") for age in (30, 31, 61)] == ["ACTIVE", "WARNING", "STALE"]


@pytest.mark.clause("FLEET-20")
@pytest.mark.parametrize(
    ("clock", "due"), [("0:00", False), ("14:59", False), ("15:00", True), ("200:00", True)]
)
def test_a_heartbeat_is_due_after_fifteen_minutes(clock: str, due: bool) -> None:
    assert is_due(LAST, after(clock)) is due


def test_after_the_clock_stepped_back_an_hour_a_heartbeat_is_due() -> None:
    """Otherwise the agent would say nothing for an hour and a quarter."""
    assert is_due(LAST + HOUR, LAST)
    assert not is_due(LAST + MINUTE, LAST)


@pytest.mark.clause("FLEET-89")
def test_a_checkpoint_of_more_than_sixty_minutes_is_too_old() -> None:
    assert too_old_lines(60) == []
    assert too_old_lines(61) == [
        "ERROR: Checkpoint is 61 minutes old",
        "Agent likely crashed. Requires recovery procedure.",
    ]


@pytest.mark.clause("FLEET-73")
@pytest.mark.parametrize(("clock", "minimal"), [("0:00", True), ("29:59", True), ("30:00", False)])
def test_work_of_less_than_thirty_minutes_is_minimal(clock: str, minimal: bool) -> None:
    assert is_minimal_work(LAST, after(clock)) is minimal


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15T14:30:00Z",
        "2026-01-15T14:30:00z",
        "2026-01-15T14:30:00+00:00",
        "2026-01-15T14:30:00",
        "2026-01-15 14:30:00",
        " 2026-01-15T14:30:00Z\n",
        "2026-01-15T16:30:00+02:00",
        "2026-01-15T09:00:00-05:30",
        "2026-01-16T00:30:00+10:00",
    ],
)
def test_times_as_agents_write_them(text: str) -> None:
    assert instant_of(text) == LAST


def test_parts_of_a_second_are_kept() -> None:
    assert instant_of("2026-01-15T14:30:00.123456+00:00") == LAST + 123


@pytest.mark.parametrize(
    "value",
    [
        None,
        0,
        17,
        True,
        [],
        {},
        "",
        "Z",
        "never",
        "PAUSED",
        "14:30",
        "2026-01-15",
        "2026-02-30T00:00:00Z",
    ],
)
def test_what_is_no_time(value: object) -> None:
    assert instant_of(value) is None
