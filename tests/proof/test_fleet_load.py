"""200 agents that beat once a second for a minute, from 20 processes; and processes killed under load."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.fleet import roster
from holdfast.journal.chain import verify
from holdfast.kernel import clock
from tests.fleet.test_many import beaten
from tests.fleet.world import Scene

pytestmark = pytest.mark.proof


def test_two_hundred_agents_for_a_minute(repository: Path) -> None:
    began = time.monotonic()
    beaten(repository, processes=20, agents=10, beats=60, pause=1.0)
    print(
        f"\n200 agents, 12,000 beats, {time.monotonic() - began:.0f} s: none lost, none late read"
    )


SCRIPT = Path(__file__).parent / "crowd.py"
CROWDS, AGENTS, KILLS = 8, 4, 40
# Of each life; and how long it may take to get there.
BEATS, PATIENCE = 10, 60


def test_no_acknowledged_beat_is_lost_by_kills_under_load(repository: Path, tmp_path: Path) -> None:
    """While others wait for the lock of the one that is killed, at whatever point it is."""
    chance = random.Random(8)
    acknowledged: set[tuple[str, str]] = set()

    def start(crowd: int, life: int) -> tuple[subprocess.Popen[bytes], Path]:
        words = [SCRIPT, repository, crowd * AGENTS, AGENTS, life]
        said = tmp_path / f"said-{life}"
        with said.open("wb") as output:
            return subprocess.Popen([sys.executable, *map(str, words)], stdout=output), said

    def end(process: subprocess.Popen[bytes], said: Path) -> None:
        """Let it have beaten before: on a busy machine it takes long to start."""
        late = time.monotonic() + PATIENCE
        while said.read_text().count("\n") <= BEATS:
            assert time.monotonic() < late, "it does not beat"
            time.sleep(0.02)
        time.sleep(chance.random() / 10)
        process.kill()
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
        for line in said.read_text().splitlines():
            agent, step = line.split()
            acknowledged.add((agent, step))

    running = [start(crowd, crowd) for crowd in range(CROWDS)]
    for kill in range(KILLS):
        crowd = chance.randrange(CROWDS)
        end(*running[crowd])
        running[crowd] = start(crowd, CROWDS + kill)
        time.sleep(chance.random())
    for life in running:
        end(*life)

    scene = Scene(repository)
    journal = scene.workspace.journal
    recorded = []
    for number in range(CROWDS * AGENTS):
        for record in journal.read(f"agent:secondary_{number}"):
            step = record["body"].get("set", {}).get("current_step")
            if record["kind"] == "beat" and step:
                recorded.append((f"Secondary-{number}", step))
    print(f"\n{KILLS} kills, {len(acknowledged)} beats acknowledged, {len(recorded)} recorded")
    assert len(acknowledged) > BEATS * KILLS, "the lives were too short to prove anything"
    assert acknowledged <= set(recorded)
    assert len(recorded) == len(set(recorded)), "none twice"
    # A kill can hide the acknowledgement of the beat on its way, and nothing more.
    assert len(recorded) - len(acknowledged) <= KILLS + CROWDS
    assert [found for found in verify(journal) if found["broken"]] == []
    assert {entry["liveness"] for entry in roster.listing(scene.epic, clock.now())} == {"ACTIVE"}
