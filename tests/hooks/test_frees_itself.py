"""An agent frees itself: it removes, renames or replaces what holds it, and the next hook holds it again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.budgets import alerts
from holdfast.budgets.hooks import has_budget
from holdfast.kernel import clock, latch
from tests.budgets.world import Scene
from tests.hooks import world
from tests.hooks.test_limits import bash
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast

WAITING, STOPPED = 8, 7


@pytest.fixture
def scene(repository: Path) -> Scene:
    return Scene(repository)


def is_denied(session: str = "s1", **environment: str) -> bool:
    """Whether the next tool of a session is denied."""
    given = world.given(**bash("make"), session_id=session)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        done = world.send("claude", "PreToolUse", given)
    assert done.returncode == 0
    return b'"deny"' in done.stdout


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def rename(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def replace_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


def say_that_all_is_quiet(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.with_name("quiet").touch()


def move_the_budget_away(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.with_name("quiet").touch()
    Path(".autopilot").rename(".moved")


@pytest.mark.parametrize(
    "attack", [remove, rename, replace_by_a_file, say_that_all_is_quiet, move_the_budget_away]
)
def test_an_alert_whose_folder_is_gone_holds_at_the_next_tool(
    scene: Scene, attack: Callable[[Path], None]
) -> None:
    scene.check(cost=26.5)
    assert is_denied()
    attack(Path(scene.workspace.home, alerts.FOLDER))
    assert is_denied()
    assert alerts.read(scene.workspace, "s1"), "it is set again"


def test_every_session_that_an_alert_held_is_held_again(scene: Scene) -> None:
    for session in ("s1", "s2"):
        scene.check(cost=26.5, session=session)
    scene.check(cost=1, session="s3")
    remove(Path(scene.workspace.home, alerts.FOLDER))
    assert is_denied("s2")
    assert is_denied("s1")
    assert not is_denied("s3")


def test_an_alert_of_this_second_is_set_again_without_a_word_about_a_program(
    scene: Scene, holdfast: Holdfast
) -> None:
    """Its file is written a moment after its record."""
    scene.now = clock.now()
    scene.check(cost=26.5)
    remove(Path(scene.workspace.home, alerts.FOLDER))
    assert is_denied()
    assert "A program tried" not in holdfast("status").out


def test_a_latch_that_is_gone_holds_at_the_next_tool(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("estop", "enough")
    Path(scene.workspace.home, "latch").unlink()
    Path(scene.workspace.home, "quiet").touch()
    assert is_denied()
    assert latch.read(scene.workspace) is not None
    assert "A program tried to lift the emergency stop" in " ".join(holdfast("status").out.split())


def test_a_budget_is_kept_though_its_folder_is_moved_away(scene: Scene) -> None:
    scene.do("reset", given={"stop": {"cost": 5.0}}, forgiven={})
    assert has_budget(scene.workspace)
    Path(".autopilot").rename(".moved")
    assert has_budget(scene.workspace)


# HOLDFAST_HOME


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """A home for the journal that the agent made."""
    return {"HOLDFAST_HOME": str(tmp_path / "of the agent")}


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_alert_holds_in_a_journal_of_the_agents_own(
    scene: Scene, elsewhere: dict[str, str]
) -> None:
    scene.check(cost=26.5)
    checked = run("guard", "check", "--cost", "1", "--session", "s1", **elsewhere)
    assert checked.returncode == WAITING
    assert "An alert waits: Cost at $26.50 (in the repository's own journal" in checked.stderr
    assert is_denied(**elsewhere)
    remove(Path(scene.workspace.home, alerts.FOLDER))
    assert is_denied(**elsewhere)


def test_a_stop_holds_in_a_journal_of_the_agents_own(
    scene: Scene, elsewhere: dict[str, str]
) -> None:
    scene.check(cost=50)
    Path(scene.workspace.home, "latch").unlink()
    assert run("guard", "check", "--cost", "1", **elsewhere).returncode == STOPPED
    assert is_denied(**elsewhere)


def test_limits_hold_in_a_journal_of_the_agents_own(
    scene: Scene, elsewhere: dict[str, str]
) -> None:
    scene.check(cost=1)
    scene.do("reset", given={"stop": {"cost": 5.0}}, forgiven={})
    scene.check(cost=1)
    checked = run("guard", "check", "--cost", "6", **elsewhere)
    assert checked.returncode == STOPPED, checked.stdout
    shown = json.loads(run("guard", "limits", "--json", **elsewhere).stdout)["data"]
    assert shown["sources"]["stop"]["cost"] == "the repository's own journal"


def test_status_says_that_another_journal_is_named(scene: Scene, elsewhere: dict[str, str]) -> None:
    scene.check(cost=26.5)
    shown = " ".join(run("status", **elsewhere).stdout.split())
    assert "All quiet" not in shown
    own = f"HOLDFAST_HOME names another journal than this repository's own ({scene.workspace.home})"
    assert f"{own}; its stops, alerts and limits still hold" in shown
    assert "An alert waits: Cost at $26.50 (in the repository's own journal" in shown


def test_an_alert_of_a_project_without_git_holds_in_another_journal(
    tmp_path: Path, elsewhere: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "plain"
    project.mkdir()
    (project / "holdfast.toml").write_text("")
    monkeypatch.chdir(project)
    Scene(project).check(cost=26.5)
    assert (
        run("guard", "check", "--cost", "1", "--session", "s1", **elsewhere).returncode == WAITING
    )


def test_a_journal_elsewhere_is_quiet_where_the_repository_has_none(
    repository: Path, elsewhere: dict[str, str]
) -> None:
    assert "All quiet" in run("status", **elsewhere).stdout
