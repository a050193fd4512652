"""Runs under siege: three hundred tasks in six waves, and a gigabyte of output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plans.kills import killed_at_random
from tests.plans.test_executor import Bench
from tests.plans.world import World

pytestmark = pytest.mark.proof


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.close()


@pytest.mark.parametrize("seed", [100, 101, 102])
def test_three_hundred_tasks_in_six_waves_under_sixty_kills(world: World, seed: int) -> None:
    """The seed replays which of runner and workers are killed, and after how long."""
    killed_at_random(world, tasks=300, waves=6, kills=60, seed=seed)


def test_a_gigabyte_of_output_is_bounded_with_its_end_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    ended = bench.run("yes 'a line of output' | head -c 1000000000; echo; echo the end")
    assert ended["last_line"] == "the end"
    log = bench.log(bench.marks[0])
    assert log.stat().st_size < 3_000_000
    assert log.read_text().endswith("the end\n")
