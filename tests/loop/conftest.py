"""A repository with a track, and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.loop.world import World

holdfast = command_line.holdfast


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    """A track that nobody has begun; the repository is the current folder."""
    made = World(repository)
    yield made
    made.close()
