"""Everything at once on a server: a plan's tasks on a cluster and agents that beat, while forwarder,
workers, scheduler and runner are killed.

`HOLDFAST_PROOF_SECONDS`, `HOLDFAST_PROOF_BEATS` and `HOLDFAST_PROOF_SEED` bound and replay it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.plans.world import World
from tests.proof import test_cluster as cluster
from tests.proof import test_forwarder as beats
from tests.proof.forwarders import Firing

pytestmark = pytest.mark.proof

holdfast, url = beats.holdfast, beats.url
workspace_name, on_server = beats.workspace_name, beats.on_server


@pytest.fixture
def world(on_server: str, repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.close()


def test_tasks_and_beats_while_everybody_is_killed(
    world: World, repository: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    each = beats.BEATS / beats.AGENTS
    agents = beats.begun(
        holdfast,
        repository,
        beats=beats.BEATS,
        seconds=3 * cluster.SECONDS,
        pause=cluster.SECONDS / each / 3,
    )
    with Firing(discover(str(repository)), beats.SEED) as firing:
        cluster.test_three_hundred_tasks_while_everybody_is_killed(world, tmp_path)
        for agent in agents:
            agent.finish()
    assert holdfast("status").code == 0, "it brings the rest"
    total = beats.refuse_loss(repository, agents)
    print(f"{total:,} beats, {firing.kills} forwarders killed at work: each delivered once")
    assert firing.kills
