"""Tracks under siege: many writers of two kinds, and a run that is killed twenty times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loop.kills import killed_at_random
from tests.loop.world import World
from tests.loop.writers import at_once

pytestmark = pytest.mark.proof


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.close()


def test_eight_of_us_and_eight_scripts_lose_nothing_in_a_hundred_updates_each(
    world: World,
) -> None:
    at_once(world, count=8, updates=100)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fifty_tasks_and_twenty_kills(world: World, tmp_path: Path, seed: int) -> None:
    killed_at_random(world, tmp_path, tasks=50, kills=20, longest=0.3, seed=seed)
