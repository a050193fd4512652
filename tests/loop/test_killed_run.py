"""Kill -9 during a run; the full size is in tests/proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.kills import killed_at_random
from tests.loop.world import World


@pytest.mark.clause("LOOP-43", "LOOP-44", "AMB-LOOP-04")
def test_a_run_that_is_killed_goes_on_at_the_next_open_task(world: World, tmp_path: Path) -> None:
    killed_at_random(world, tmp_path, tasks=20, kills=4, longest=0.3, seed=4)
