"""kill -9 of the forwarder at random, while agents beat: every beat is delivered once, in order.

`HOLDFAST_PROOF_BEATS` and `HOLDFAST_PROOF_SECONDS` bound it, whichever comes first; the seed
(`HOLDFAST_PROOF_SEED`) replays how long each forwarder lives.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from holdfast.journal.chain import verify
from holdfast.kernel.workspace import discover
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.journal.postgres import conftest as server
from tests.proof.forwarders import LONGEST_LIFE, Firing

pytestmark = pytest.mark.proof

# Read once: every test takes HOLDFAST_* out of its environment.
BEATS = int(os.environ.get("HOLDFAST_PROOF_BEATS", "5000"))
SECONDS = float(os.environ.get("HOLDFAST_PROOF_SECONDS", "240"))
SEED = int(os.environ.get("HOLDFAST_PROOF_SEED", "11"))
AGENTS = 5

holdfast, url = command_line.holdfast, server.url
workspace_name, on_server = server.workspace_name, server.on_server


class Beating:
    """An agent's process, and what it was acknowledged so far."""

    def __init__(self, root: Path, agent: str, beats: int, seconds: float, pause: float) -> None:
        self.agent = agent
        self.acknowledged: list[str] = []
        self._complaint = ""
        command = [sys.executable, "-P", "-m", "tests.proof.beating", str(root), agent]
        self._process = subprocess.Popen(
            [*command, str(beats), str(seconds), str(pause)],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        said, self._complaint = self._process.communicate()
        self.acknowledged += said.splitlines()

    def finish(self) -> None:
        self._reader.join()
        assert self._process.returncode == 0, self._complaint


def begun(
    holdfast: Holdfast, root: Path, *, beats: int, seconds: float, pause: float = 0.0
) -> list[Beating]:
    """Agents of their own, all beating."""
    names = [f"Secondary-{letter}" for letter in "ABCDEFGH"[:AGENTS]]
    for number, name in enumerate(names, 1):
        started = holdfast("agent", "start", name, "--feature", f"feature_0{number}_part")
        assert started.code == 0, started
    return [Beating(root, name, beats // AGENTS, seconds, pause) for name in names]


def refuse_loss(root: Path, agents: list[Beating]) -> int:
    """Each acknowledged beat stands on the server once, in its agent's order; how many there are."""
    workspace = discover(str(root))
    try:
        journal = workspace.on_server()
        records = journal.since(0, limit=1_000_000)
        assert [finding for finding in verify(journal) if finding["broken"]] == []
        assert journal.refusals() == []
        journal.close()
    finally:
        workspace.close()
    ids = Counter(record["id"] for record in records)
    assert [id for id, times in ids.items() if times > 1] == []
    total = 0
    for agent in agents:
        stream = f"agent:{agent.agent.lower().replace('-', '_')}"
        beats = [
            str(record["body"]["set"]["current_step"])
            for record in records
            if record["stream"] == stream and record["kind"] == "beat"
        ]
        assert beats == agent.acknowledged
        total += len(beats)
    return total


def test_every_beat_is_delivered_once(on_server: str, repository: Path, holdfast: Holdfast) -> None:
    began = time.monotonic()
    agents = begun(holdfast, repository, beats=BEATS, seconds=SECONDS)
    with Firing(discover(str(repository)), SEED) as firing:
        for agent in agents:
            agent.finish()
        took = time.monotonic() - began
    waited = _waiting(repository)
    assert holdfast("status").code == 0, "it brings the rest"
    assert _waiting(repository) == 0
    total = refuse_loss(repository, agents)
    print(
        f"\nseed {SEED}: {total:,} beats in {took:.0f} s, {firing.kills} forwarders killed at work, "
        f"{waited} beats still waited at the end: each delivered once"
    )
    assert firing.kills > took / (4 * LONGEST_LIFE)
    assert waited < total, "the forwarders delivered something, too"


def _waiting(root: Path) -> int:
    from holdfast.remote.spool import Spool

    workspace = discover(str(root), local=True)
    try:
        return int(Spool(workspace.file()).waiting()["records"])
    finally:
        workspace.close()
