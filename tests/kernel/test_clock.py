"""Times as the protocols and the journal write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel import clock

instants = st.integers(min_value=0, max_value=clock.parse("9999-12-31T23:59:59.999Z"))


@given(instants)
def test_a_precise_time_reads_back(instant: int) -> None:
    assert clock.parse(clock.precise(instant)) == instant


@given(instants)
def test_a_stamp_reads_back_to_the_second(instant: int) -> None:
    assert clock.parse(clock.stamp(instant)) == instant // 1000 * 1000


@given(instants)
def test_both_forms_say_what_datetime_says(instant: int) -> None:
    moment = datetime.fromtimestamp(instant // 1000, UTC).replace(microsecond=instant % 1000 * 1000)
    assert clock.precise(instant) == moment.isoformat(timespec="milliseconds")[:-6] + "Z"
    assert clock.stamp(instant) == f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@given(instants, instants)
def test_precise_times_sort_as_text(one: int, other: int) -> None:
    assert (clock.precise(one) < clock.precise(other)) == (one < other)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("30Z", 0), ("30.5Z", 500), ("30.04Z", 40), ("30.042Z", 42), ("30.042999Z", 42)],
)
def test_a_fraction_may_have_any_length(text: str, milliseconds: int) -> None:
    whole = clock.parse("2026-11-15T19:11:30Z")
    assert clock.parse(f"2026-11-15T19:11:{text}") == whole + milliseconds


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "Z",
        "now",
        "2026-11-15",
        "2026-11-15T19:11:30",
        "2026-11-15 19:11:30Z",
        "2026-11-15T19:11:30+00:00",
        "2026-11-15T19:11:30.Z",
        "2026-11-15T19:11:30.1.2Z",
        "2026-11-15T19:11:30.-1Z",
        "2026-13-15T19:11:30Z",
        "2026-00-15T19:11:30Z",
        "2026-11-00T19:11:30Z",
        "2026-11-32T19:11:30Z",
        "2026-11-15T24:11:30Z",
        "2026-11-15T19:60:30Z",
        "2026-11-15T19:11:61Z",
        "+026-11-15T19:11:30Z",
        " 026-11-15T19:11:30Z",
        "٢٠٢٦-11-15T19:11:30Z",
        "2026-11-15T19:11:30.٣Z",
    ],
)
def test_what_is_no_time_is_a_value_error(garbage: str) -> None:
    with pytest.raises(ValueError):
        clock.parse(garbage)


@pytest.mark.parametrize("day", ["2026-02-29", "2026-02-30", "2100-02-29", "2026-04-31"])
def test_a_day_that_the_month_does_not_have_is_a_value_error(day: str) -> None:
    with pytest.raises(ValueError):
        clock.parse(f"{day}T00:00:00Z")


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_a_value_error(text: str) -> None:
    try:
        clock.parse(text)
    except ValueError:
        pass
