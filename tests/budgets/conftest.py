"""A budget in a fresh repository, and nothing of the developer's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.budgets.world import Scene
from tests.cli import conftest as command_line

holdfast = command_line.holdfast


@pytest.fixture
def scene(repository: Path) -> Iterator[Scene]:
    opened = Scene(repository)
    yield opened
    opened.workspace.close()
