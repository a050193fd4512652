"""An agent with an environment of its own: it brings no limits and no acknowledgments, and lifts nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.budgets.rules.thresholds import DEFAULTS, tighten
from tests.budgets.world import Scene
from tests.cli.conftest import Holdfast
from tests.gates.person import does

STOPPED = 7


def write_own(home: Path, **costs: object) -> None:
    """The user's own file, in a home."""
    path = home / ".claude" / "autopilot" / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"defaults": costs}), "utf-8")


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What an agent runs, with variables of its own choice."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(params=["HOME", "CLAUDE_CONFIG_DIR"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """A home that the agent made, whose limits are as high as it likes."""
    home = tmp_path / "of the agent"
    write_own(home, warnCost=9000, alertCost=9000, maxCost=9000)
    if request.param == "HOME":
        return {"HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    return {"CLAUDE_CONFIG_DIR": str(home / ".claude")}


def test_an_agent_with_a_home_of_its_own_raises_no_limit(
    scene: Scene, elsewhere: dict[str, str]
) -> None:
    done = run("guard", "check", "--cost", "60", **elsewhere)
    assert done.returncode == STOPPED, done.stdout


def test_an_agent_with_a_home_of_its_own_loses_no_limit_of_mine(
    scene: Scene, elsewhere: dict[str, str]
) -> None:
    write_own(Path.home(), alertCost=4, maxCost=5)
    assert scene.verdict(cost=1) == "go"
    shown = run("guard", "limits", **elsewhere).stdout
    assert "$5.00 (your own limit)" in shown
    done = run("guard", "check", "--cost", "6", **elsewhere)
    assert done.returncode == STOPPED, done.stdout


def test_an_agent_that_removes_my_file_loses_no_limit(scene: Scene) -> None:
    write_own(Path.home(), maxCost=5)
    assert scene.verdict(cost=1) == "go"
    (Path.home() / ".claude" / "autopilot" / "config.json").unlink()
    assert scene.verdict(cost=6) == "stop"


def test_what_my_own_file_lowers_counts_at_once(scene: Scene, holdfast: Holdfast) -> None:
    write_own(Path.home(), maxCost=20)
    assert scene.verdict(cost=1) == "go"
    write_own(Path.home(), maxCost=10)
    assert scene.verdict(cost=11) == "stop"
    assert "confirm" not in holdfast("status").out


def test_what_my_own_file_raises_counts_once_i_confirm_it(scene: Scene, holdfast: Holdfast) -> None:
    write_own(Path.home(), warnCost=60, alertCost=80, maxCost=100)
    waits = (
        "warning.cost $60.00, alert.cost $80.00, stop.cost $100.00, which counts once you confirm"
    )
    assert waits in " ".join(holdfast("status").out.split())
    assert waits in " ".join(holdfast("guard", "limits").out.split())
    assert holdfast("trust").code == 4, "no agent confirms it"
    assert scene.budget.in_force().limits["stop"]["cost"] == 50
    seen = does("trust")
    assert seen.code == 0, seen.screen
    assert "limits of your own" in seen.screen
    assert scene.budget.in_force().limits["stop"]["cost"] == 100
    assert scene.verdict(cost=60) == "go"
    assert "confirm" not in holdfast("status").out


def test_hooks_keep_to_my_limit_in_a_home_without_a_file(scene: Scene) -> None:
    """The budget is set by the record, not only by the file."""
    from holdfast.budgets.hooks import has_budget

    assert not has_budget(scene.workspace)
    write_own(Path.home(), maxCost=20)
    scene.check(cost=1)
    (Path.home() / ".claude" / "autopilot" / "config.json").unlink()
    assert has_budget(scene.workspace)


@pytest.mark.parametrize("said", [{}, {"stop": {"cost": 9000.0}}, {"alert": {"cost": 30.0}}])
def test_higher_numbers_tighten_nothing(said: dict[str, dict[str, float]]) -> None:
    assert tighten({}, said) == {}
    assert tighten({"stop": {"cost": 20.0}}, said) == {"stop": {"cost": 20.0}}


def test_lower_numbers_keep_their_order() -> None:
    recorded = {"alert": {"cost": 80.0}, "stop": {"cost": 100.0}}
    assert tighten(recorded, {"stop": {"cost": 60.0}}) == {
        "alert": {"cost": 60.0},
        "stop": {"cost": 60.0},
    }
    assert DEFAULTS["stop"]["cost"] == 50


def test_a_check_in_the_inbox_raises_no_limit_of_mine(scene: Scene) -> None:
    write_own(Path.home(), maxCost=5)
    scene.check(cost=1)
    held = scene.budget.in_force()
    check = {
        "do": "check",
        "values": {"cost": 1, "context": None, "variance": None, "errors": 0},
        "limits": held.limits,
        "own": {"stop": {"cost": 9000.0}},
        "flags": {},
        "actions": held.actions,
        "session": "s1",
        "place": {"phase": 1, "plan": 1, "last_task_completed": None, "next_task": None},
        "started_at": "",
        "checkpoint_at": "",
        "pause": 1_800_000,
        "last_turn": False,
    }
    scene.budget.execute(check, now=scene.now)
    assert scene.state["own"] == {"stop": {"cost": 5}}
