"""What hooks see is a sign of life, and never the agent's own word."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet.current_life import record_activity
from holdfast.fleet.rules import handoff
from holdfast.hooks.run import command
from holdfast.kernel import clock
from tests.fleet.world import A, B, Scene


@pytest.mark.clause("AMB-FLEET-28")
def test_what_a_hook_sees_moves_no_checkpoint(scene: Scene) -> None:
    scene.start()
    before = scene.path().read_bytes()
    scene.later(14)
    assert record_activity(scene.workspace, "", scene.now) == ""
    scene.later(1)
    reminder = record_activity(scene.workspace, "", scene.now)
    assert reminder.startswith(f"{A}: your last checkpoint is 15 minutes old.")
    assert f"holdfast agent beat {A}" in reminder
    assert scene.path().read_bytes() == before
    assert scene.agent().state["checkpoint"]["last_checkpoint"] == clock.stamp(scene.now - 900_000)  # type: ignore[index]
    kinds = [record["kind"] for record in scene.workspace.journal.read("agent:secondary_a")]
    assert kinds == ["started"]


@pytest.mark.clause("AMB-FLEET-28")
def test_what_a_hook_sees_is_a_sign_of_life(scene: Scene) -> None:
    scene.start()
    scene.later(90)
    assert scene.listing()[A]["signals"]["activity"] is None
    record_activity(scene.workspace, "", scene.now)
    scene.later(5)
    entry = scene.listing()[A]
    assert entry["signals"]["activity"] == scene.now - 5 * clock.MINUTE
    assert entry["liveness"] == "STALE"  # by the clock, as the protocol has it
    assert entry["verdict"] == "slow"
    assert "changed 5 min ago" in entry["because"]


def test_a_life_that_is_over_and_one_that_is_done_are_not_reminded(scene: Scene) -> None:
    scene.start()
    scene.takeover(A, B)
    scene.later(60)
    assert record_activity(scene.workspace, "", scene.now) == ""  # no session has started it yet
    scene.beat(B)
    scene.later(60)
    assert record_activity(scene.workspace, "", scene.now).startswith(B)
    scene.update(B, do="complete")
    scene.later(60)
    assert record_activity(scene.workspace, "", scene.now) == ""


@pytest.mark.clause("AMB-FLEET-28")
@pytest.mark.parametrize("event", ["SessionStart", "PreCompact"])
def test_a_client_s_hook_reminds(scene: Scene, event: str) -> None:
    scene.now = clock.now() - 20 * clock.MINUTE
    scene.start()
    scene.workspace.close()
    payload: dict[str, Any] = {"session_id": "s1", "cwd": str(scene.root), "source": "startup"}
    done = subprocess.run(
        command("claude", event), input=json.dumps(payload), capture_output=True, text=True
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["systemMessage"].startswith(f"{A}: your last checkpoint is 20")


@pytest.mark.clause("AMB-FLEET-27")
def test_the_guides_close_their_blocks(scene: Scene) -> None:
    for stage in ("S2.P1", "S2.P2", "S2.P3"):
        lines = [line.strip() for line in handoff.guide(stage).splitlines()]
        fences = [line for line in lines if line.startswith("```")]
        assert fences[::2] == ["```bash"] * (len(fences) // 2)
        assert fences[1::2] == ["```"] * (len(fences) // 2)


def test_nothing_is_here_when_nobody_began_here(repository: Path) -> None:
    assert record_activity(Scene(repository).workspace, "s1", clock.now()) == ""
