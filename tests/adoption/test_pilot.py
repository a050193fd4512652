"""An autopilot project whose files were made by hand: its limits hold, its words stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adoption import folders
from tests.adoption.folders import ACKNOWLEDGED, CONFIG, ROUTE, put
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast

holdfast = command_line.holdfast
STATE = ".autopilot/state/acknowledgments.json"


def put_all() -> None:
    put(".autopilot/config.yaml", CONFIG)
    put(".autopilot/phases/003/ROUTE.md", ROUTE)
    put(STATE, ACKNOWLEDGED)


@pytest.mark.clause("PILOT-44", "PILOT-55", "PILOT-39")
def test_reading_changes_nothing_and_demands_nothing(repository: Path, holdfast: Holdfast) -> None:
    put_all()
    before = folders.contents()
    assert holdfast("plan", "lint").out.startswith("1 plan file, and nothing is wrong.")
    assert holdfast("plan", "graph").code == 0
    assert "$50.00 (.autopilot/config.yaml)" in holdfast("guard", "limits").out
    assert holdfast("guard", "check", "--cost", "3", "--dry-run").code == 0
    assert folders.contents() == before


@pytest.mark.clause("PILOT-44", "PILOT-55", "PILOT-93")
def test_limits_hold_and_the_files_keep_what_they_said(
    repository: Path, holdfast: Holdfast
) -> None:
    put_all()
    assert holdfast("guard", "check", "--cost", "11").code == 0
    assert holdfast("guard", "check", "--cost", "51").code == 7
    assert Path(".autopilot/config.yaml").read_text("utf-8") == CONFIG
    assert Path(".autopilot/phases/003/ROUTE.md").read_text("utf-8") == ROUTE
    kept = json.loads(Path(STATE).read_text("utf-8"))
    assert kept["acknowledgments"]["cost"] == ACKNOWLEDGED["acknowledgments"]["cost"]  # type: ignore[index]
    said = folders.run_script(
        f"jq -r .acknowledgments.cost.session_id {STATE}\n"
        "jq -r .current_values.cost .autopilot/state/thresholds.json\n"
        "jq -r .reason .autopilot/waypoints/stop-*.json\n"
    )
    session, cost, reason = said.splitlines()
    assert (session, float(cost), reason) == ("session-abc123", 51, "threshold_stop")
