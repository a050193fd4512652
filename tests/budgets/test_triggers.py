"""`checkpoint_triggers`: the protocol's entries, what may be configured, and the elapsed time."""

from __future__ import annotations

import pytest

from holdfast.budgets.rules.triggers import DEFAULTS
from holdfast.kernel import clock
from holdfast.kernel.clock import MINUTE
from tests.budgets.world import SECOND, Scene, configure
from tests.cli.conftest import Holdfast


@pytest.mark.clause("PILOT-66", "PILOT-69", "PILOT-70", "PILOT-71", "PILOT-72")
def test_the_entries_of_the_protocol(scene: Scene) -> None:
    assert DEFAULTS == [
        {"type": "task_complete", "frequency": "every", "action": "update_state"},
        {"type": "phase_complete", "frequency": "every", "action": "checkpoint_and_verify"},
        {"type": "context_warning", "threshold": 30, "action": "log_warning"},
        {"type": "context_alert", "threshold": 40, "action": "prepare_checkpoint"},
        {"type": "context_stop", "threshold": 50, "action": "force_checkpoint"},
        {"type": "cost_warning", "threshold": 10, "action": "log_warning"},
        {"type": "cost_alert", "threshold": 25, "action": "pause_for_ack"},
        {"type": "cost_stop", "threshold": 50, "action": "hard_stop"},
        {"type": "error_threshold", "count": 3, "action": "pause_and_investigate"},
        {"type": "time_elapsed", "duration": 30 * MINUTE, "action": "suggest_checkpoint"},
        {"type": "user_interrupt", "signal": "Ctrl+C", "action": "graceful_checkpoint"},
    ]
    assert scene.budget.in_force().triggers == DEFAULTS


@pytest.mark.clause("PILOT-66", "AMB-PILOT-01")
def test_an_entry_of_the_file_sets_its_levels_number(scene: Scene) -> None:
    configure(
        "checkpoint_triggers: [{type: error_threshold, count: 4, action: pause_and_investigate}]"
    )
    assert scene.verdict(errors=3) == "go"
    assert scene.verdict(errors=4) == "wait"


@pytest.mark.clause("AMB-PILOT-03")
def test_the_context_can_be_made_to_stop_at_its_alert(scene: Scene) -> None:
    configure("checkpoint_triggers: [{type: context_alert, action: force_checkpoint}]")
    assert scene.verdict(context=39.99) == "go"
    report = scene.check(context=40)
    assert report["verdict"] == "stop"
    assert report["stopped"] is not None
    assert (report["stopped"]["level"], report["stopped"]["threshold"]) == ("alert", 40)


@pytest.mark.clause("PILOT-71")
def test_the_recent_errors_are_there_to_be_investigated(scene: Scene, holdfast: Holdfast) -> None:
    for number in range(3):
        scene.do("add", error=f"Test {number} \x1b[31mfailed")
    answer = holdfast("guard", "check")
    assert answer.code == 8
    assert "Test 2" in answer.out
    assert "\x1b" not in answer.out
    data = holdfast("guard", "check", "--json").data
    assert data["recent_errors"] == [f"Test {number} \x1b[31mfailed" for number in range(3)]
    assert data["handled"][0]["type"] == "errors"


# Time


@pytest.mark.clause("PILOT-72")
def test_a_checkpoint_is_suggested_after_exactly_thirty_minutes(scene: Scene) -> None:
    began = scene.now + SECOND
    assert scene.check(cost=1)["elapsed"] is None
    scene.now = began + 30 * MINUTE - 2 * SECOND
    assert scene.check(cost=1)["elapsed"] is None, "29:59"
    assert scene.check(cost=1)["elapsed"] == 30 * MINUTE


@pytest.mark.clause("AMB-PILOT-23")
def test_it_is_suggested_once_and_again_after_each_further_thirty_minutes(scene: Scene) -> None:
    scene.check(cost=1)
    told = []
    for _ in range(95):
        scene.later(1)
        scene.now -= SECOND  # which the check itself takes
        told.append(scene.check(cost=1)["elapsed"])
    minutes = [number for number, elapsed in enumerate(told, 1) if elapsed is not None]
    assert minutes == [30, 60, 90]


@pytest.mark.clause("AMB-PILOT-23")
def test_a_checkpoint_starts_the_wait_anew(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--skip-git", "--task", "Half way")
    taken = clock.now()

    def suggests(minutes: float) -> bool:
        """So long after that checkpoint, or before it."""
        scene.now = taken + int(minutes * MINUTE)
        return scene.check(cost=1)["elapsed"] is not None

    assert not suggests(-40)
    assert suggests(-10)
    assert not suggests(25), "35 minutes after the suggestion, 25 after the checkpoint"
    assert suggests(31)


def test_a_clock_that_was_set_back_suggests_nothing(scene: Scene) -> None:
    scene.check(cost=1)
    scene.later(-500)
    assert scene.check(cost=1)["elapsed"] is None


def test_each_session_has_a_time_of_its_own(scene: Scene) -> None:
    scene.check(cost=1)
    scene.later(31)
    assert scene.check(cost=1, session="s2")["elapsed"] is None
    assert scene.check(cost=1)["elapsed"] is not None
