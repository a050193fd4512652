"""A fleet to test with, and nothing of the developer's own client."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.fleet import epic_readme
from tests.cli import conftest as command_line
from tests.fleet.world import Scene

holdfast = command_line.holdfast


@pytest.fixture
def scene(repository: Path) -> Scene:
    return Scene(repository)


@pytest.fixture(autouse=True)
def short_pause_after_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell writes over the lock of the README here; `test_readme_lock.py` says where one does."""
    monkeypatch.setattr(epic_readme, "SETTLE_SECONDS", 0.005)
