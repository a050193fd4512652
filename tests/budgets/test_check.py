"""The three levels at work: a warning goes on, an alert waits for a person, a stop stops."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import holdfast as library
from holdfast.budgets.rules.ledger import SESSIONS_KEPT
from holdfast.kernel import latch
from tests.budgets.world import THRESHOLDS, Scene, read
from tests.cli.conftest import Holdfast


@pytest.mark.clause("PILOT-47", "PILOT-49")
def test_a_warning_is_logged_and_work_goes_on(scene: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("guard", "check", "--cost", "11.50", "--json")
    assert (answer.code, answer.data["verdict"]) == (0, "go")
    (line,) = scene.metrics()
    assert (line["type"], line["level"], line["value"]) == ("cost", "warning", 11.5)


@pytest.mark.clause("PILOT-47", "PILOT-50", "PILOT-52")
def test_an_alert_waits_until_it_is_acknowledged_once(scene: Scene, holdfast: Holdfast) -> None:
    assert scene.verdict(cost=26.5) == "wait"
    assert scene.verdict(cost=27) == "wait", "asking again is no acknowledgment"
    pending = scene.state["pending"]["cost"]
    assert (pending["value"], pending["since"]) == (26.5, "2026-11-15T12:00:01Z"), "the same alert"
    scene.ack("cost")
    report = scene.check(cost=28)
    assert report["verdict"] == "go"
    assert report["log"][-1] == "⏩ Alert acknowledged previously, continuing..."
    assert holdfast("guard", "check", "--cost", "49.99").code == 0
    assert "╔" not in holdfast("guard", "check", "--cost", "49.99").out


@pytest.mark.clause("PILOT-47", "PILOT-55")
def test_a_stop_stops_with_a_waypoint_and_holds_whatever_comes(
    scene: Scene, holdfast: Holdfast
) -> None:
    report = scene.check(cost=50)
    assert report["verdict"] == "stop"
    saved = read(Path(report["waypoint"]))
    assert saved["reason"] == "threshold_stop"
    assert saved["trigger"] == {
        "type": "cost",
        "level": "stop",
        "value": 50,
        "reason": "Threshold exceeded",
    }
    assert holdfast("guard", "check", "--cost", "0").code == 7, "a lower value lifts nothing"
    assert scene.kinds().count("stopped") == 1
    held = latch.read(scene.workspace)
    assert held is not None
    assert held["reason"] == "Cost at $50.00, the limit is $50.00"


@pytest.mark.clause("AMB-PILOT-04")
def test_the_variance_stops_as_hard_as_the_others(scene: Scene) -> None:
    assert scene.check(estimated=10, actual=15)["verdict"] == "stop"
    assert latch.read(scene.workspace) is not None
    assert len(scene.waypoints()) == 1


@pytest.mark.clause("AMB-PILOT-03")
def test_the_alert_of_the_context_prepares_a_checkpoint_and_then_asks(scene: Scene) -> None:
    report = scene.check(context=42)
    assert report["verdict"] == "wait"
    assert re.fullmatch(
        r"\.autopilot/waypoints/context-alert-\d{8}-\d{6}\.json", report["waypoint"]
    )
    saved = read(Path(report["waypoint"]))
    assert saved["resume_command"] == "holdfast guard ack context"
    scene.check(context=43)
    assert len(scene.waypoints()) == 1, "prepared once"
    scene.ack("context")
    assert scene.verdict(context=44) == "go"
    assert scene.verdict(context=50) == "stop"


@pytest.mark.clause("AMB-PILOT-05")
def test_what_was_acknowledged_is_not_asked_again(scene: Scene) -> None:
    scene.check(cost=26)
    scene.ack("cost")
    assert scene.verdict(cost=49.99) == "go", "growing"
    assert scene.verdict(cost=5) == "go", "falling"
    assert scene.verdict(cost=26) == "go", "and crossing again"
    assert scene.verdict(errors=3, cost=26) == "wait", "another type is another alert"
    assert scene.verdict(cost=50) == "stop"


@pytest.mark.clause("AMB-PILOT-05")
def test_an_alert_that_was_set_lower_asks_again(scene: Scene) -> None:
    scene.check(cost=26)
    scene.ack("cost")
    assert scene.check(cost=26, limits={"alert": {"cost": 25.0}})["verdict"] == "go"
    assert scene.check(cost=26, limits={"alert": {"cost": 20.0}})["verdict"] == "wait"


def test_an_acknowledgment_holds_until_the_ceiling_that_its_person_named(scene: Scene) -> None:
    scene.check(cost=26)
    scene.ack("cost", until=40)
    assert scene.verdict(cost=39.99) == "go"
    assert scene.verdict(cost=40) == "wait"
    (body,) = [
        record["body"]
        for record in scene.workspace.journal.read("budget:default")
        if record["kind"] == "acknowledged"
    ]
    assert (body["level"], body["value"], body["until"], body["stop"]) == ("alert", 26, 40, 50)
    assert body["by"]["name"] == "ada"


@pytest.mark.clause("PILOT-65")
def test_after_a_reset_an_alert_asks_again(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=26)
    scene.ack("cost")
    assert scene.verdict(cost=26) == "go"
    assert holdfast("guard", "reset").code == 0
    assert scene.verdict(cost=26) == "wait"


def test_a_reset_leaves_the_limit_that_a_person_gave(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=52)
    scene.lift(cost=80)
    assert holdfast("guard", "reset").code == 0
    assert scene.verdict(cost=60) == "wait"


def test_an_alert_waits_until_a_person_ends_it(scene: Scene) -> None:
    """For the session that raised it, whatever it reports; a new one begins with an empty context."""
    scene.check(context=42)
    assert scene.verdict(context=5, session="s2") == "go"
    assert scene.state["pending"].keys() == {"context"}
    assert scene.check(cost=1)["pending"].keys() == {"context"}, "unknown is not lower"
    assert scene.verdict(context=5) == "wait"
    scene.ack("context")
    assert scene.verdict(context=5) == "go"


@pytest.mark.clause("AMB-PILOT-10")
def test_a_warning_is_printed_when_its_level_is_entered_and_counted_each_time(
    scene: Scene, holdfast: Holdfast
) -> None:
    def printed(cost: str, session: str = "s1") -> bool:
        return "📝" in holdfast("guard", "check", "--cost", cost, "--session", session).out

    assert printed("11")
    assert not printed("12")
    assert not printed("13")
    assert printed("13", "s2"), "once a session"
    assert not printed("9"), "a reported figure never falls: it is the 13 of before"
    assert [line["number"] for line in scene.metrics()] == [1, 2, 3, 4, 5]


@pytest.mark.clause("AMB-PILOT-10")
def test_the_literal_mode_prints_every_warning(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_GUARD_EVERY_WARNING", "true")
    for _ in range(3):
        assert "📝" in holdfast("guard", "check", "--cost", "11").out


@pytest.mark.clause("AMB-PILOT-32")
def test_the_newest_values_stand_in_thresholds_json(scene: Scene) -> None:
    scene.check(cost=26.5, context=31, errors=0)
    assert read(THRESHOLDS) == {
        "current_values": {
            "cost": 26.5,
            "context_percent": 31,
            "variance_percent": None,
            "error_count": 0,
        },
        "levels_triggered": {
            "cost": "alert",
            "context": "warning",
            "variance": None,
            "errors": None,
        },
        "last_check": "2026-11-15T12:00:01Z",
    }


def test_a_dry_run_says_what_would_come_and_records_nothing(
    scene: Scene, holdfast: Holdfast
) -> None:
    answer = holdfast("guard", "check", "--cost", "60", "--dry-run", "--json")
    assert (answer.code, answer.data["verdict"]) == (7, "stop")
    assert "🛑" in holdfast("guard", "check", "--cost", "60", "--dry-run").out
    assert not Path(".autopilot").exists()
    assert latch.read(scene.workspace) is None


def test_an_emergency_stop_holds_a_check_too(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("estop", "--reason", "Everybody out")
    answer = holdfast("guard", "check", "--cost", "1", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (7, "stopped")
    assert "holdfast release" in answer.envelope["error"]["hint"]


def test_status_names_what_waits_and_what_stopped(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=26.5)
    assert "holdfast guard ack cost" in holdfast("status").out
    scene.check(cost=50)
    out = holdfast("status").out
    assert "Stopped by guard: Cost at $50.00" in out
    assert "holdfast guard reset" in out
    assert "holdfast release" not in out


def test_the_answer_for_programs_has_everything(scene: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("guard", "check", "--cost", "26.50", "--json")
    assert answer.envelope["next"] == ["holdfast guard ack cost"]
    data = answer.data
    assert data["handled"][0] == {
        "number": 1,
        "type": "cost",
        "level": "alert",
        "value": 26.5,
        "threshold": 25.0,
        "how": "waiting",
        "entered": True,
    }
    assert data["pending"]["cost"]["value"] == 26.5
    assert json.dumps(data, allow_nan=False)


def test_the_library_checks_too(repository: Path) -> None:
    with library.open() as workspace:
        assert workspace.budgets.check(cost=5.0)["verdict"] == "go"
        report = workspace.budgets.check(cost=26.5, context=10)
        assert (report["verdict"], report["levels"]["context"]) == ("wait", None)
        with pytest.raises(library.HoldfastError):
            workspace.budgets.check(cost=float("nan"))


def test_a_session_that_is_no_name_is_refused(scene: Scene, holdfast: Holdfast) -> None:
    assert holdfast("guard", "check", "--session", "../../etc", "--json").code == 2


def test_checks_of_many_sessions_are_bounded(scene: Scene) -> None:
    for number in range(SESSIONS_KEPT + 5):
        scene.check(cost=1, session=f"s{number}")
    assert len(scene.state["sessions"]) == SESSIONS_KEPT
