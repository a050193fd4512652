"""Waypoints and metrics: their names, what is in them, and what a crash or an editor does to them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.budgets.rules.documents import path_of_waypoint
from holdfast.kernel import clock
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.text import split_words
from holdfast.maintenance import purge
from tests.budgets.world import METRICS, WAYPOINTS, Scene, read
from tests.cli.conftest import Holdfast
from tests.gates.person import at_page

AT = clock.parse("2026-01-29T14:30:00Z")


@pytest.mark.clause("PILOT-93", "AMB-PILOT-28")
@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("threshold_stop", "stop-20260129-143000.json"),
        ("alert_stop", "alert-stop-20260129-143000.json"),
        ("context_alert", "context-alert-20260129-143000.json"),
        ("phase_complete", "phase-complete-20260129-143000.json"),
        ("user_interrupt", "user-interrupt-20260129-143000.json"),
    ],
)
def test_a_file_is_named_after_its_reason_and_second(reason: str, name: str) -> None:
    assert path_of_waypoint(reason, AT) == f".autopilot/waypoints/{name}"


@pytest.mark.clause("AMB-PILOT-28")
def test_two_waypoints_of_one_second_get_two_names() -> None:
    first = path_of_waypoint("alert_stop", AT)
    second = path_of_waypoint("alert_stop", AT, first)
    third = path_of_waypoint("alert_stop", AT, second)
    assert [second, third] == [first.replace(".json", f"-{number}.json") for number in (2, 3)]


@pytest.mark.clause("AMB-PILOT-27", "PILOT-93")
def test_a_waypoint_has_everything_to_resume_from(scene: Scene, holdfast: Holdfast) -> None:
    work = ("--task", "Write the parser", "--done", "Read the issue", "--skip-git")
    holdfast("checkpoint", *work)
    scene.check(cost=26, errors=0)
    scene.ack("cost")
    report = scene.check(cost=52.3, context=12, estimated=50, actual=52, errors=1)
    assert re.fullmatch(r"\.autopilot/waypoints/stop-\d{8}-\d{6}\.json", report["waypoint"])
    saved = read(Path(report["waypoint"]))
    assert list(saved) == list(
        split_words(
            "id reason created_at session_id trigger phase plan last_task_completed "
            "next_task totals thresholds acknowledgments resume_command"
        )
    )
    assert saved["id"] == "stop-20261115-120003"
    assert saved["created_at"] == "2026-11-15T12:00:03Z"
    assert (saved["last_task_completed"], saved["next_task"]) == (
        "Read the issue",
        "Write the parser",
    )
    assert saved["totals"] == {"cost": 52.3, "context": 12, "variance": 4, "errors": 1}
    assert list(saved["thresholds"]) == ["warning", "alert", "stop"]
    assert saved["acknowledgments"]["cost"]["value_at_ack"] == 26
    assert saved["resume_command"] == "holdfast guard reset"


def test_a_waypoint_stays_as_it_was_written(scene: Scene, holdfast: Holdfast) -> None:
    path = Path(scene.check(cost=50)["waypoint"])
    before = path.read_bytes()
    scene.check(cost=51)
    holdfast("guard", "check", "--cost", "52")
    assert path.read_bytes() == before


def test_a_waypoint_that_its_owner_deleted_stays_deleted(scene: Scene) -> None:
    Path(scene.check(context=42)["waypoint"]).unlink()
    scene.check(context=43)
    assert scene.waypoints() == []


def test_a_file_of_somebody_else_at_a_waypoints_place_is_not_lost(scene: Scene) -> None:
    WAYPOINTS.mkdir(parents=True)
    (WAYPOINTS / "stop-20261115-120001.json").write_text('{"mine": true}')
    scene.check(cost=50)
    texts = [
        record["body"].get("text") for record in scene.workspace.journal.read("budget:default")
    ]
    assert '{"mine": true}' in texts
    assert read(WAYPOINTS / "stop-20261115-120001.json")["reason"] == "threshold_stop"


def test_a_secret_in_a_waypoint_is_purged(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--skip-git", "--task", "The word is xyzzy")
    old = Path(scene.check(context=42)["waypoint"])
    new = Path(scene.check(cost=60)["waypoint"])
    assert "xyzzy" in old.read_text()
    found = purge.find(scene.workspace, text="xyzzy", now=scene.now)
    person = at_page("/dev/pts/1", now=scene.now)
    with pytest.raises(NotAllowed):
        purge.erase(scene.workspace, found, text="xyzzy", actor="ada", now=scene.now)
    purge.erase(scene.workspace, found, text="xyzzy", actor="ada", now=scene.now, person=person)
    assert "xyzzy" not in old.read_text()
    assert read(new)["next_task"] == "The word is [purged]"
    assert scene.verdict(cost=1) == "stop", "which is no secret"


# metrics.jsonl


@pytest.mark.clause("PILOT-49", "AMB-PILOT-32")
def test_each_level_that_is_reached_is_one_line(scene: Scene) -> None:
    scene.check(cost=5)
    assert not METRICS.exists()
    scene.check(cost=11, context=31)
    scene.check(cost=26)
    assert [
        (line["number"], line["type"], line["level"], line["value"], line["handled"])
        for line in scene.metrics()
    ] == [
        (1, "cost", "warning", 11, "warned"),
        (2, "context", "warning", 31, "warned"),
        (3, "cost", "alert", 26, "waiting"),
    ]
    assert scene.metrics()[0]["at"] == "2026-11-15T12:00:02Z"
    assert scene.metrics()[0]["session_id"] == "s1"


@pytest.mark.parametrize("damage", ["lost", "torn", "gone", "foreign"])
def test_what_a_crash_kept_from_the_metrics_the_next_check_appends(
    scene: Scene, damage: str
) -> None:
    for cost in (11, 12, 13):
        scene.check(cost=cost, context=31)
    lines = METRICS.read_text().splitlines(keepends=True)
    whole = METRICS.read_text()
    if damage == "lost":
        METRICS.write_text("".join(lines[:3]))
    elif damage == "torn":
        METRICS.write_text("".join(lines[:4]) + lines[4][:20])
    elif damage == "gone":
        METRICS.unlink()
    else:
        METRICS.write_text(whole + '{"number": "not ours"}\nno JSON\n')
    scene.check(cost=14)
    found = []
    for line in METRICS.read_text().splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value["number"], int):
            found.append(value)
    assert [line["number"] for line in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [line["value"] for line in found if line["type"] == "cost"] == [11, 12, 13, 14]


def test_a_metrics_file_that_cannot_be_written_does_not_keep_a_check_from_its_answer(
    scene: Scene,
) -> None:
    METRICS.mkdir(parents=True)
    report = scene.check(cost=26)
    assert report["verdict"] == "wait"
    assert "metrics.jsonl was not written" in report["warnings"][0]
    METRICS.rmdir()
    scene.check(cost=27)
    assert [line["number"] for line in scene.metrics()] == [1, 2]
