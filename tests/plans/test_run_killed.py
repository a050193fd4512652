"""Kill -9 during a run; the full size is in tests/proof."""

from __future__ import annotations

from tests.plans.kills import killed_at_random
from tests.plans.world import World


def test_a_run_whose_runner_and_workers_are_killed_finishes_all_the_same(world: World) -> None:
    killed_at_random(world, tasks=40, waves=3, kills=8, seed=8)
