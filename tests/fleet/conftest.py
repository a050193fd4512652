"""A fleet to test with, and nothing of the developer's own client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.fleet.world import Scene

holdfast = command_line.holdfast


@pytest.fixture
def scene(repository: Path) -> Scene:
    return Scene(repository)
