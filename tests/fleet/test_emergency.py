"""The emergency stop: every heartbeat and every hook answers that; nothing is lost meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from holdfast.hooks.run import command
from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.fleet.world import FEATURE, A, Scene
from tests.gates.person import does


def test_a_heartbeat_is_saved_and_answers_stop(scene: Scene, holdfast: Holdfast) -> None:
    holdfast("agent", "start", A, "--feature", FEATURE)
    assert holdfast("estop", "--reason", "The budget is gone").code == 0
    answer = holdfast("agent", "beat", A, "--step", "Not lost", "--json")
    assert answer.code == 7
    assert answer.envelope["error"]["kind"] == "stopped"
    said = answer.envelope["error"]["message"]
    assert said.startswith("Stop now, checkpoint: The budget is gone (tester)")
    assert scene.file()["current_step"] == "Not lost"
    assert "holdfast release" in holdfast("status").out
    assert holdfast("release").code == 4, "no person sits here"
    assert "Released: the agents may go on." in does("release").screen
    assert holdfast("agent", "beat", A).code == 0
    assert holdfast("release").out == "There was no stop.\n"
    kinds = [record["kind"] for record in scene.workspace.journal.read("stop:workspace")]
    assert kinds == ["stopped", "released"]


@pytest.mark.parametrize("event", ["SessionStart", "PreCompact", "Stop"])
def test_a_hook_tells_its_client_to_stop(repository: Path, holdfast: Holdfast, event: str) -> None:
    holdfast("estop", "--reason", "Everybody out")
    payload = {"session_id": "s1", "cwd": str(repository), "source": "startup"}
    words = command("claude", event)
    done = subprocess.run(words, input=json.dumps(payload), capture_output=True, text=True)
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert answer["continue"] is False
    assert answer["stopReason"].startswith("Stop now, checkpoint: Everybody out")
    assert "decision" not in answer


def test_a_stop_holds_without_the_journal(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    scene.workspace.close()
    journal = Path(discover().journal_path)
    journal.write_bytes(b"This is no database." * 500)
    for ending in ("-wal", "-shm"):
        if os.path.exists(f"{journal}{ending}"):
            os.unlink(f"{journal}{ending}")
    answer = holdfast("estop", "--reason", "Broken")
    assert answer.code == 0
    assert "could not be written" in answer.err
    assert latch.read(discover()) is not None
    assert does("release").code == 0
    assert latch.read(discover()) is None


def test_a_secret_in_a_backup_is_purged(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start()
    scene.beat(current_step="The word is xyzzy")
    scene.later(1).beat(current_step="Something else")
    scene.takeover(A, A)
    scene.later(1).beat(current_step="And on")
    copies = list((scene.folder / "agent_checkpoints").rglob("*.json"))
    assert [path for path in copies if "xyzzy" in path.read_text()]
    Path("secret").write_text("xyzzy")
    with Path("secret").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert holdfast("purge", "--matching", "--yes").code == 0
    left = list((scene.folder / "agent_checkpoints").rglob("*.json"))
    assert not [path for path in left if "xyzzy" in path.read_text()]
    assert scene.path() in left


@pytest.mark.parametrize("words", [[], ["--reason", " "]])
def test_a_stop_works_bare(scene: Scene, holdfast: Holdfast, words: list[str]) -> None:
    assert holdfast("estop", *words).out == "Stopped: Emergency stop\n"
    assert holdfast("agent", "beat", A).code == 7
