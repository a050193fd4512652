"""The protocol's numbers, their boundaries, and what each level does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from holdfast.budgets.rules.thresholds import (
    ACTIONS,
    DEFAULTS,
    LEVELS,
    TYPES,
    level_of,
    variance_of,
)
from tests.budgets.world import Scene


@pytest.mark.clause("PILOT-44")
def test_the_numbers_of_the_warning() -> None:
    assert DEFAULTS["warning"] == {"cost": 10.00, "context": 30, "variance": 20, "errors": 2}
    assert set(ACTIONS["warning"].values()) == {"log_warning"}


@pytest.mark.clause("PILOT-45")
def test_the_numbers_of_the_alert() -> None:
    assert DEFAULTS["alert"] == {"cost": 25.00, "context": 40, "variance": 30, "errors": 3}
    assert {type: ACTIONS["alert"][type] for type in TYPES} == {
        "cost": "pause_for_ack",
        "context": "prepare_checkpoint",
        "variance": "pause_for_review",
        "errors": "pause_and_investigate",
    }


@pytest.mark.clause("PILOT-46")
def test_the_numbers_of_the_stop() -> None:
    assert DEFAULTS["stop"] == {"cost": 50.00, "context": 50, "variance": 50, "errors": 5}
    assert {type: ACTIONS["stop"][type] for type in TYPES} == {
        "cost": "hard_stop",
        "context": "force_checkpoint",
        "variance": "escalate_to_user",
        "errors": "hard_stop",
    }


@pytest.mark.clause("PILOT-56", "AMB-PILOT-02")
@pytest.mark.parametrize("type", TYPES)
def test_a_level_begins_exactly_at_its_number(type: str) -> None:
    """One level, the highest: never two at once."""
    just_below = 1 if type == "errors" else 0.01
    below: str | None = None
    for level in LEVELS:
        number = DEFAULTS[level][type]
        assert level_of(DEFAULTS, type, number - just_below) == below
        assert level_of(DEFAULTS, type, number) == level
        below = level
    assert level_of(DEFAULTS, type, 1_000_000) == "stop"


@pytest.mark.clause("PILOT-56", "PILOT-70")
@pytest.mark.parametrize(
    ("cost", "verdict", "level"),
    [
        (9.99, "go", None),
        (10, "go", "warning"),
        (24.99, "go", "warning"),
        (25, "wait", "alert"),
        (49.99, "wait", "alert"),
        (50, "stop", "stop"),
    ],
)
def test_the_boundaries_of_the_cost(scene: Scene, cost: float, verdict: str, level: str) -> None:
    report = scene.check(cost=cost)
    assert (report["verdict"], report["levels"]["cost"]) == (verdict, level)


@pytest.mark.clause("PILOT-69")
@pytest.mark.parametrize(
    ("context", "level"),
    [
        (29.99, None),
        (30, "warning"),
        (39.99, "warning"),
        (40, "alert"),
        (49.99, "alert"),
        (50, "stop"),
    ],
)
def test_the_boundaries_of_the_context(scene: Scene, context: float, level: str) -> None:
    assert scene.check(context=context)["levels"]["context"] == level


@pytest.mark.clause("PILOT-71")
@pytest.mark.parametrize(
    ("errors", "level"), [(1, None), (2, "warning"), (3, "alert"), (5, "stop")]
)
def test_the_boundaries_of_the_errors(scene: Scene, errors: int, level: str) -> None:
    assert scene.check(errors=errors)["levels"]["errors"] == level


@pytest.mark.clause("AMB-PILOT-09")
def test_variance_is_the_overrun_in_percent() -> None:
    assert variance_of(10, 12) == 20
    assert variance_of(10, 5) == -50
    assert variance_of(0, 5) is None


@pytest.mark.clause("AMB-PILOT-09")
@pytest.mark.parametrize(
    ("actual", "level"),
    [(0, None), (5, None), (11.99, None), (12, "warning"), (13, "alert"), (15, "stop")],
)
def test_only_overruns_trigger(scene: Scene, actual: float, level: str) -> None:
    report = scene.check(estimated=10, actual=actual)
    assert report["levels"]["variance"] == level


@pytest.mark.clause("AMB-PILOT-09")
def test_without_an_estimate_the_variance_is_skipped_and_said(scene: Scene) -> None:
    report = scene.check(estimated=0, actual=1000)
    assert report["verdict"] == "go"
    assert report["values"]["variance"] is None
    assert report["notes"]["variance"] == "skipped: the estimate is 0"


@pytest.mark.clause("AMB-PILOT-09")
def test_the_variance_is_of_the_cost_where_nothing_else_is_said(scene: Scene) -> None:
    assert scene.check(cost=6, estimated=5)["values"]["variance"] == pytest.approx(20)


@pytest.mark.clause("PILOT-57", "AMB-PILOT-01")
def test_types_are_handled_in_order_each_once(scene: Scene) -> None:
    report = scene.check(cost=11, context=31, estimated=10, actual=12.5, errors=2)
    assert [one["type"] for one in report["handled"]] == ["cost", "context", "variance", "errors"]
    assert {one["level"] for one in report["handled"]} == {"warning"}


@pytest.mark.clause("AMB-PILOT-01", "AMB-PILOT-02")
def test_an_alert_that_a_trigger_names_too_is_handled_once(scene: Scene) -> None:
    """`errors: 3` and `error_threshold: 3` are one event, and so is everything below a stop."""
    report = scene.check(cost=50, errors=3)
    assert [(one["type"], one["level"]) for one in report["handled"]] == [("cost", "stop")]
    fresh = scene.kinds().count("stopped")
    assert fresh == 1


@pytest.mark.clause("AMB-PILOT-31")
@pytest.mark.parametrize(("first", "second"), [*itertools.combinations(TYPES, 2)])
def test_the_first_type_at_its_stop_ends_the_check(scene: Scene, first: str, second: str) -> None:
    reached: dict[str, dict[str, Any]] = {
        "cost": {"cost": 51.0},
        "context": {"context": 52.0},
        "variance": {"estimated": 10.0, "actual": 16.0},
        "errors": {"errors": 6},
    }
    report = scene.check(**reached[first], **reached[second])
    assert report["stopped"] is not None
    assert report["stopped"]["type"] == first
    saved = scene.state["waypoint"]
    assert saved is not None
    assert saved["content"]["totals"][second] >= 6, "the other's value is kept"


def test_a_stop_of_a_later_type_beats_an_alert_of_an_earlier_one(scene: Scene) -> None:
    report = scene.check(cost=30, errors=5)
    assert report["verdict"] == "stop"
    assert [one["how"] for one in report["handled"]] == ["waiting", "stopped"]
