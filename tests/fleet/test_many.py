"""Many agents at once: no beat is lost, and who looks meanwhile sees the truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from holdfast.fleet import roster
from holdfast.kernel import clock
from tests import warm
from tests.fleet.world import FEATURE, A, Scene

SCRIPT = Path(__file__).parent / "beating.py"


def beaten(root: Path, processes: int, agents: int, beats: int, pause: float) -> Scene:
    """Let so many processes be so many agents each; looks at them meanwhile, and at the end."""
    words = [sys.executable, str(SCRIPT), str(root)]
    running = [
        warm.start(
            [*words, *map(str, (number * agents, agents, beats, pause))],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    scene = Scene(root)
    looks = 0
    while any(process.poll() is None for process in running):
        for entry in roster.listing(scene.epic, clock.now()):
            assert entry["liveness"] == "ACTIVE", entry
            looks += 1
        time.sleep(max(pause, 0.05))
    said = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * processes
    assert [int(words[0]) for words in said] == [agents * beats] * processes
    assert looks
    journal = scene.workspace.journal
    for number in range(processes * agents):
        kinds = [record["kind"] for record in journal.read(f"agent:secondary_{number}")]
        assert kinds == ["started", *["beat"] * beats]
        assert scene.file(f"secondary_{number}")["current_step"] == f"Round {beats - 1}"
    return scene


def test_no_beat_is_lost(repository: Path) -> None:
    scene = beaten(repository, processes=4, agents=5, beats=5, pause=0.0)
    assert len(scene.listing()) == 20


def test_two_agents_of_one_id_started_at_once(repository: Path) -> None:
    words = [sys.executable, "-m", "holdfast", "agent", "start", A, "--feature", FEATURE, "--json"]

    def start(_: int) -> tuple[int, dict[str, object]]:
        done = warm.run(words, cwd=repository, capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(start, range(4)))
    assert sorted(code for code, _ in answers) == [0, 5, 5, 5]
    (winner,) = [answer["data"] for code, answer in answers if code == 0]
    losers = [answer["error"] for code, answer in answers if code == 5]
    assert all("is at work" in error["message"] for error in losers)  # type: ignore[index]
    saved = json.loads((repository / "agent_checkpoints" / "secondary_a.json").read_text())
    assert saved["session_id"] == winner["session_id"]  # type: ignore[index]


def test_two_takeovers_at_once(repository: Path) -> None:
    scene = Scene(repository)
    scene.start()
    scene.workspace.close()

    def take(agent: str) -> int:
        words = [sys.executable, "-m", "holdfast", "agent", "takeover", A, "--by", agent, "--yes"]
        return warm.run(words, cwd=repository, capture_output=True).returncode

    with ThreadPoolExecutor(3) as pool:
        codes = list(pool.map(take, ["Secondary-B", "Secondary-C", "Secondary-D"]))
    assert codes.count(0) == 1
    assert len(Scene(repository).listing()) == 1
    assert len([name for name in os.listdir("agent_checkpoints") if "_crashed_" in name]) == 1
