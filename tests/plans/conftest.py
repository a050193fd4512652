"""Plans in a fresh repository, with nothing of the developer's own around."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.plans.world import World

holdfast = command_line.holdfast


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.close()
