"""Amounts with units, and everything that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.budgets import measure
from holdfast.budgets.rules import thresholds
from holdfast.budgets.rules.thresholds import QUANTITIES
from holdfast.kernel import money
from holdfast.kernel.clock import HOUR, MINUTE
from holdfast.kernel.errors import Usage
from tests.cli.conftest import Holdfast

NO_AMOUNTS = ["NaN", "nan", "inf", "-1", "-0.01", "12,50", "1e3", "", " ", ".", "5.", "$", "%"]
NO_AMOUNTS += ["1_000", "٣", "0x10", "1 2", "1.2.3", "+5", "--5", "9" * 40, "true", "1\n2"]


@pytest.mark.clause("PILOT-74")
def test_values_with_units_are_numbers() -> None:
    assert [thresholds.money(text) for text in ("$10", "10.00", " 12.5 ")] == [10.0, 10.0, 12.5]
    assert [thresholds.percent(text) for text in ("30%", "30", "12.5%")] == [30.0, 30.0, 12.5]
    assert thresholds.count("3") == 3
    spans = [thresholds.duration(text) for text in ("30min", "30 min", "90s", "2h", "45m")]
    assert spans == [30 * MINUTE, 30 * MINUTE, 90_000, 2 * HOUR, 45 * MINUTE]


@pytest.mark.clause("PILOT-74")
@pytest.mark.parametrize("type", QUANTITIES)
def test_what_is_no_amount_is_refused(type: str) -> None:
    for text in NO_AMOUNTS:
        with pytest.raises(ValueError, match="must be"):
            QUANTITIES[type].read(text)


@pytest.mark.parametrize("text", ["30", "30%", "min", "-5min", "1e2min", "30 fortnights", "∞min"])
def test_a_duration_needs_a_number_and_a_unit(text: str) -> None:
    with pytest.raises(ValueError, match="30min"):
        thresholds.duration(text)


def test_a_count_is_whole_and_money_has_no_percent() -> None:
    for type, text in (("errors", "2.5"), ("errors", "2.0"), ("cost", "10%"), ("context", "$10")):
        with pytest.raises(ValueError, match="must be"):
            QUANTITIES[type].read(text)


@pytest.mark.parametrize("flag", ["--cost", "--context", "--estimated", "--actual", "--errors"])
@pytest.mark.parametrize("text", ["12,50", "NaN", "-3", "inf"])
def test_a_flag_that_is_no_amount_is_named(
    repository: object, holdfast: Holdfast, flag: str, text: str
) -> None:
    answer = holdfast("guard", "check", f"{flag}={text}", "--json")
    assert answer.code == 2
    assert flag in answer.envelope["error"]["message"]
    assert not Path(".autopilot").exists(), "nothing was checked"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.01, True, "5"])
def test_a_program_cannot_hand_in_what_is_no_number(value: object) -> None:
    assert not thresholds.is_amount(value)
    for name in measure.NAMES:
        given: measure.Given = {name: value}  # type: ignore[misc]
        with pytest.raises(Usage):
            measure.gather(None, {}, given, session="", now=0)  # type: ignore[arg-type, typeddict-item]


def test_sums_of_cents_reach_the_limit_exactly() -> None:
    assert money.from_millionths(sum([money.millionths(0.1)] * 250)) == 25.0
