"""What people see and what the log says, word by word."""

from __future__ import annotations

import pytest

from holdfast.budgets.rules import boxes
from holdfast.kernel.text import width
from tests.budgets.world import Scene
from tests.cli.conftest import Holdfast

ALERT = """\
╔══════════════════════════════════════════════════════╗
║           🔶 ALERT: Threshold Reached                 ║
╠══════════════════════════════════════════════════════╣
║  Type:      Cost                                      ║
║  Current:   $26.50                                    ║
║  Threshold: $25.00 (alert)                            ║
║  Next:      $50.00 (stop)                             ║
╠══════════════════════════════════════════════════════╣
║  This alert requires acknowledgment to continue.      ║
║                                                       ║
║  Type 'ack' to acknowledge and continue               ║
║  Type 'stop' to halt execution                        ║
╚══════════════════════════════════════════════════════╝"""
STOP = """\
╔══════════════════════════════════════════════════════╗
║           🛑 STOP: Threshold Exceeded                 ║
╠══════════════════════════════════════════════════════╣
║  Type:      Cost                                      ║
║  Current:   $52.30                                    ║
║  Threshold: $50.00 (stop)                             ║
╠══════════════════════════════════════════════════════╣
║  Execution HALTED. Checkpoint created.                ║
║                                                       ║
║  Options:                                             ║
║  1. Increase threshold in .autopilot/config.yaml      ║
║  2. Review and optimize remaining work                ║
║  3. Resume with /autopilot:cockpit --reset-alerts     ║
╚══════════════════════════════════════════════════════╝"""


@pytest.mark.clause("PILOT-89")
def test_a_warning_is_two_lines(scene: Scene, holdfast: Holdfast) -> None:
    wanted = "📝 Warning: Cost at $11.50 (threshold: $10)\n   Continuing execution...\n"
    assert "\n".join(boxes.warning("cost", 11.5, 10)) + "\n" == wanted
    answer = holdfast("guard", "check", "--cost", "11.50")
    assert answer.code == 0
    assert wanted in answer.out


@pytest.mark.clause("PILOT-90", "AMB-PILOT-12")
def test_the_alert_has_the_rows_of_the_protocol(scene: Scene, holdfast: Holdfast) -> None:
    box = "\n".join(boxes.alert("cost", 26.5, 25, 50))
    assert box == ALERT, "byte for byte, where it is no terminal"
    answer = holdfast("guard", "check", "--cost", "26.50")
    assert answer.code == 8
    assert box in answer.out


@pytest.mark.clause("PILOT-91", "PILOT-93", "AMB-PILOT-12")
def test_the_stop_has_the_rows_of_the_protocol(scene: Scene, holdfast: Holdfast) -> None:
    box = "\n".join(boxes.stop("cost", 52.3, 50))
    assert box == STOP
    answer = holdfast("guard", "check", "--cost", "52.30")
    assert answer.code == 7
    (name,) = scene.waypoints()
    assert f"{box}\n\nWaypoint saved: .autopilot/waypoints/{name}\n{boxes.LIFT}\n" in answer.out
    assert boxes.LIFT.endswith("holdfast guard reset"), "the command that does lift it"


@pytest.mark.clause("PILOT-92", "AMB-PILOT-12")
@pytest.mark.parametrize("value", [0.0, 26.5, 123_456_789_012.0])
def test_boxes_are_aligned_in_three_regions(value: float) -> None:
    for box in (
        boxes.alert("cost", value, 25, 50, aligned=True),
        boxes.stop("cost", value, 50, aligned=True),
    ):
        assert {width(row) for row in box} == {width(box[0])}
        assert (box[0][0], box[0][-1], box[-1][0], box[-1][-1]) == ("╔", "╗", "╚", "╝")
        assert sum(row[0] == "╠" and row[-1] == "╣" for row in box) == 2
        inside = [row for row in box if "═" not in row]
        assert all(row[0] == row[-1] == "║" for row in inside)


@pytest.mark.clause("AMB-PILOT-13")
def test_numbers_are_written_as_the_protocol_writes_them() -> None:
    assert boxes.amount("cost", 25) == "$25.00"
    assert boxes.short_amount("cost", 10) == "$10"
    assert boxes.short_amount("cost", 12.5) == "$12.50"
    assert boxes.amount("context", 42) == boxes.amount("variance", 42.0) == "42%"
    assert boxes.amount("context", 39.996) == "39.99%"
    assert boxes.amount("errors", 3) == "3"
    assert boxes.amount("cost", 24.999) == "$24.99", "not yet 25"
    assert boxes.alert("errors", 3, 3, 5)[3:5] == [
        "║  Type:      Errors                                    ║",
        "║  Current:   3                                         ║",
    ]


LOGS = {
    "warned": ["📝 Warning: cost reached 26.5"],
    "acknowledged": ["⏩ Alert acknowledged previously, continuing..."],
    "waiting": [
        "🔶 ALERT: cost at 26.5",
        "",
        "This threshold requires acknowledgment to continue.",
        "Type 'ack' to acknowledge and continue, or 'stop' to halt.",
    ],
    "stopped": [
        "🛑 STOP: cost at 26.5",
        "",
        "This threshold requires immediate action.",
        "Execution cannot continue until issue is resolved.",
    ],
}


@pytest.mark.clause("PILOT-48", "PILOT-49", "PILOT-50", "PILOT-51", "PILOT-54")
@pytest.mark.parametrize("how", LOGS)
def test_the_log_has_the_lines_of_the_protocol(how: str) -> None:
    first, *rest = boxes.log_of("cost", "alert", 26.5, how)
    assert first == "⚠️ Threshold triggered: cost at alert (26.5)"
    assert rest == LOGS[how]


@pytest.mark.clause("AMB-PILOT-11")
def test_the_log_and_the_console_are_apart(scene: Scene, holdfast: Holdfast) -> None:
    quiet = holdfast("guard", "check", "--cost", "26.50")
    assert "Threshold triggered" not in quiet.out + quiet.err
    logged = holdfast("guard", "check", "--cost", "26.50", "--log")
    assert "╔" in logged.out
    assert "╔" not in logged.err
    assert "⚠️ Threshold triggered: cost at alert (26.5)" in logged.err
    assert "Threshold triggered" not in logged.out
    assert (
        holdfast("guard", "check", "--cost", "26.50", "--json").data["log"][1] == LOGS["waiting"][0]
    )
