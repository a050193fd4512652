"""A stop that holds: through kill -9, without the journal, in every hook; and one last turn."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks.run import command
from holdfast.kernel import last_turn, latch
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.workspace import discover
from holdfast.kernel.writer import Writer
from tests.budgets.world import SECOND, Scene
from tests.cli.conftest import Holdfast
from tests.dying import die_at
from tests.gates.person import Terminal
from tests.session.world import holdfast_process

POINTS = {
    "before append": "between the latch and the record",
    "before projection": "between the record and the waypoint",
    "before the latch is settled": "after the waypoint",
}


def hook(event: str, session: str = "s1") -> dict[str, Any]:
    payload = {"session_id": session, "cwd": str(Path.cwd()), "source": "startup"}
    done = subprocess.run(
        command("claude", event), input=json.dumps(payload), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout or "{}")
    assert isinstance(value, dict)
    return value


@pytest.mark.clause("PILOT-55")
@pytest.mark.parametrize("point", POINTS, ids=list(POINTS.values()))
def test_a_stop_that_was_killed_half_way_is_a_stop(
    scene: Scene, holdfast: Holdfast, point: str
) -> None:
    die_at(point, "guard", "check", "--cost", "52.30")
    assert hook("SessionStart", "next")["continue"] is False, "without any check"
    assert holdfast_process("guard", "check", "--cost", "0").returncode == 7
    assert holdfast("release").code == 4
    assert holdfast_process("guard", "reset").returncode == 4, "it takes a person"
    assert holdfast("guard", "check", "--cost", "52.30").code == 7
    assert len(scene.waypoints()) == 1
    assert scene.kinds().count("stopped") == 1


def test_a_latch_that_was_taken_away_is_set_again(scene: Scene) -> None:
    scene.check(cost=52.3)
    latch.release(scene.workspace)
    assert scene.verdict(cost=1) == "stop"
    assert latch.read(scene.workspace) is not None


def test_an_earlier_record_that_is_restored_lifts_nothing(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=1)
    scene.check(cost=52.3)
    first = scene.workspace.journal.read("budget:default")[0]["id"]
    assert holdfast("restore", first).code == 4, "only a person restores a budget"
    terminal = Terminal("restore", first)
    terminal.type_back()
    assert terminal.leave().code == 0
    assert scene.state["stopped"] is None
    assert holdfast("guard", "check", "--cost", "1").code == 7, "the latch holds"
    assert holdfast("release").code == 4
    assert holdfast_process("guard", "reset").returncode == 4
    assert holdfast("guard", "check", "--cost", "52.30").code == 7
    assert scene.kinds().count("stopped") == 2


def test_a_stop_holds_without_the_journal(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=52.3)
    scene.workspace.close()
    journal = Path(discover().journal_path)
    journal.write_bytes(b"This is no database." * 500)
    for ending in ("-wal", "-shm"):
        Path(f"{journal}{ending}").unlink(missing_ok=True)
    assert holdfast("guard", "check", "--cost", "1").code == 7
    assert hook("SessionStart", "next")["continue"] is False


def test_a_stop_whose_record_fails_holds_all_the_same(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*words: object, **options: object) -> None:
        raise StoreAway("The disk is full.", kind="disk_full")

    monkeypatch.setattr(Writer, "execute", full)
    report = scene.check(cost=52.3)
    assert report["verdict"] == "stop"
    assert "not recorded" in report["warnings"][0]
    assert latch.read(scene.workspace) is not None


def test_a_person_who_lifts_it_meanwhile_leaves_no_latch(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our look and our record somebody raised the limit: what we set is let go again."""
    scene.check(cost=1)
    real = scene.budget.execute

    def late(command: Any, *, now: int) -> Any:
        limits = {**command["limits"], "stop": {**command["limits"]["stop"], "cost": 80.0}}
        return real({**command, "limits": limits}, now=now)

    monkeypatch.setattr(scene.budget, "execute", late)
    assert scene.verdict(cost=52.3) == "wait"
    assert latch.read(scene.workspace) is None


# The last turn


def test_the_agent_is_told_once_that_it_has_one_last_turn(scene: Scene, holdfast: Holdfast) -> None:
    first = holdfast("guard", "check", "--cost", "52.30")
    assert "One last turn: run `holdfast checkpoint`, then end." in first.out
    second = holdfast("guard", "check", "--cost", "52.30")
    assert (second.code, "last turn" in second.out) == (7, False)
    other = holdfast("guard", "check", "--session", "other", "--json")
    assert other.data["last_turn"] is True, "each session has its own"
    assert holdfast("checkpoint", "--skip-git", "--task", "Half way").code == 0


def test_a_hook_gives_a_session_one_turn_and_then_none(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("guard", "check", "--cost", "52.30", "--session", "elsewhere")
    first = hook("Stop")
    assert first["decision"] == "block"
    assert "Stop now, checkpoint: Cost at $52.30" in first["reason"]
    assert "One last turn" in first["reason"]
    assert "continue" not in hook("PreCompact"), "which would end it in the middle"
    second = hook("Stop")
    assert second["continue"] is False
    assert "decision" not in second
    assert hook("SessionStart", "new")["continue"] is False, "a new session begins nothing"


def test_a_session_that_a_check_told_gets_no_second_turn(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("guard", "check", "--cost", "52.30", "--session", "s1")
    assert hook("Stop", "s1")["continue"] is False


def test_the_last_turn_ends_with_its_minutes(scene: Scene) -> None:
    workspace = scene.workspace
    last_turn.grant(workspace, now=scene.now)
    assert last_turn.is_open(workspace, now=scene.now + last_turn.LONGEST - 1)
    assert not last_turn.take(workspace, "s1", now=scene.now + last_turn.LONGEST)
    assert not last_turn.take(workspace, "s1", now=scene.now - SECOND), "a clock set back"
    assert last_turn.take(workspace, "s1", now=scene.now)
    assert not last_turn.take(workspace, "s1", now=scene.now)
    last_turn.end(workspace)
    assert not last_turn.take(workspace, "s2", now=scene.now)


def test_the_last_turn_can_be_turned_off(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_GUARD_LAST_TURN", "false")
    assert "last turn" not in holdfast("guard", "check", "--cost", "52.30").out
    assert hook("Stop")["continue"] is False


def test_an_emergency_stop_leaves_no_turn(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("estop", "--reason", "Everybody out")
    assert hook("Stop")["continue"] is False


def test_agents_are_stopped_too(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("agent", "start", "Secondary-A", "--feature", "feature_02_team_penalty")
    holdfast("guard", "check", "--cost", "52.30")
    answer = holdfast("agent", "beat", "Secondary-A", "--step", "Not lost", "--json")
    assert answer.code == 7
    assert "holdfast guard reset" in answer.envelope["error"]["hint"]
