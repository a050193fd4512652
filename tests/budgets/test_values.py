"""Where the values come from: flags, what programs report, what the clients write down; and unknowns."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.budgets import stop
from holdfast.kernel.errors import StoreAway, Usage
from holdfast.usage import spending
from tests.budgets.world import Scene
from tests.cli.conftest import Holdfast


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the clients' files say, to be changed by a test."""
    said: dict[str, Any] = {
        "cost": 12.0,
        "cost_at_least": 12.0,
        "sure": "exact",
        "why": "",
        "client": "claude",
        "session": "s1",
        "tokens": {},
        "context_percent": 35.0,
        "context_tokens": 70_000,
        "context_window": 200_000,
        "errors": 1,
        "recent_errors": ["It broke"],
        "started_at": "2026-11-15T11:00:00.000Z",
        "sources": [{"path": "a.jsonl"}],
    }
    monkeypatch.setattr(spending, "measure_session", lambda *_, **__: said)
    return said


@pytest.mark.clause("AMB-PILOT-37")
def test_everything_is_measured_where_nothing_is_given(
    scene: Scene, measured: dict[str, Any]
) -> None:
    report = scene.check()
    assert report["values"] == {"cost": 12, "context": 35, "variance": None, "errors": 1}
    assert report["notes"] == {}
    assert report["elapsed"] is not None, "since the session began, as its client says"


@pytest.mark.clause("AMB-PILOT-37")
def test_the_context_is_given_or_measured_and_never_guessed(
    scene: Scene, measured: dict[str, Any]
) -> None:
    assert scene.check(context=41)["values"]["context"] == 41
    measured["context_percent"] = None
    report = scene.check()
    assert report["values"]["context"] is None
    assert report["notes"]["context"] == "unknown: no client tells it"


def test_what_is_given_counts_where_it_is_more_than_what_is_measured(
    scene: Scene, measured: dict[str, Any]
) -> None:
    known = scene.check()["values"]
    low = scene.check(cost=0, context=0, errors=0)
    assert low["values"] == known, "a report never lowers a figure"
    high = scene.check(cost=20, context=39, errors=2)
    assert high["values"] == {"cost": 20, "context": 39, "variance": None, "errors": 2}


def test_what_programs_report_is_added(scene: Scene, measured: dict[str, Any]) -> None:
    for _ in range(130):
        scene.do("add", cost=0.1, tokens=10, step="tests")
    scene.do("add", error="Out of memory")
    report = scene.check()
    assert report["values"]["cost"] == 25.0, "to the cent"
    assert report["verdict"] == "wait"
    assert report["values"]["errors"] == 2
    assert report["recent_errors"] == ["It broke", "Out of memory"]
    assert scene.state["steps"]["tests"] == {"cost": 13_000_000, "tokens": 1300, "errors": 0}


def test_a_program_without_a_client_has_what_it_reported(scene: Scene) -> None:
    scene.do("add", cost=26.5)
    report = scene.check()
    assert (report["values"]["cost"], report["verdict"]) == (26.5, "wait")
    assert "cost" not in report["notes"]


def test_an_unknown_cost_is_not_zero_and_the_others_hold(
    scene: Scene, holdfast: Holdfast, measured: dict[str, Any]
) -> None:
    measured.update(cost=None, cost_at_least=0.0, sure="unknown", why="no price for model-x")
    report = scene.check(context=1)
    assert report["values"]["cost"] is None
    assert report["levels"]["cost"] is None
    assert report["notes"]["cost"] == "unknown: no price for model-x"
    answer = holdfast("guard", "check", "--context", "55")
    assert answer.code == 7
    assert "no price for model-x" in answer.out
    assert "$0.00" not in answer.out


def test_of_a_cost_that_is_partly_unknown_the_known_part_counts(
    scene: Scene, measured: dict[str, Any]
) -> None:
    measured.update(cost=None, cost_at_least=24.0, sure="unknown", why="no price for model-x")
    scene.do("add", cost=1)
    report = scene.check(context=1)
    assert (report["values"]["cost"], report["verdict"]) == (25, "wait")
    assert report["notes"]["cost"] == "at least: no price for model-x"


def test_an_estimate_is_said_to_be_one(scene: Scene, measured: dict[str, Any]) -> None:
    measured["sure"] = "estimated"
    assert scene.check()["notes"]["cost"] == "estimated"


def test_files_that_cannot_be_read_leave_the_cost_unknown(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreAway("busy")

    monkeypatch.setattr(spending, "measure_session", away)
    report = scene.check(errors=5)
    assert report["verdict"] == "stop"
    assert report["notes"]["cost"].startswith("unknown")


def test_errors_from_before_a_reset_do_not_count(scene: Scene, measured: dict[str, Any]) -> None:
    measured["errors"] = 5
    assert scene.check(cost=1, context=1)["verdict"] == "stop"
    scene.do("reset", given={}, forgiven={"s1": 5})
    stop.let_go(scene.workspace)
    assert scene.check(cost=1, context=1)["values"]["errors"] == 0
    measured["errors"] = 7
    assert scene.check(cost=1, context=1)["values"]["errors"] == 2
    measured["errors"] = 3
    assert scene.check(cost=1, context=1)["values"]["errors"] == 3, "a count that began anew"


@pytest.mark.parametrize(
    "report",
    [
        {"cost": math.nan},
        {"cost": math.inf},
        {"cost": -0.01},
        {"cost": "5"},
        {"cost": True},
        {"tokens": -1},
        {"tokens": 1.5},
        {"tokens": True},
        {},
        {"step": "only a step"},
    ],
)
def test_a_report_that_is_no_amount_is_refused(scene: Scene, report: dict[str, Any]) -> None:
    with pytest.raises(Usage):
        scene.do("add", **report)
    assert not scene.state["opened"]


def test_status_says_the_cost_its_limit_and_how_old_the_figure_is(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("guard", "check", "--cost", "4.2")
    assert re.search(
        r"budget:default .*just now +cost \$4\.20 of \$50\.00$", holdfast("status").out, re.M
    )


def test_status_says_that_an_unknown_cost_is_not_limited(scene: Scene, holdfast: Holdfast) -> None:
    scene.check()
    assert scene.state["values"]["cost"] is None
    assert "cost unknown: $50.00 stops nothing" in holdfast("status").out
