"""Holdfast and shell scripts on one file at once; the full size is in tests/proof."""

from __future__ import annotations

import pytest

from tests.loop.world import World
from tests.loop.writers import at_once


@pytest.mark.clause("LOOP-48", "LOOP-45")
def test_two_of_us_and_two_scripts_lose_nothing(world: World) -> None:
    at_once(world, count=2, updates=6)
