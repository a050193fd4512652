"""A fleet to test with, and nothing of the developer's own client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.fleet.world import Scene

holdfast = command_line.holdfast


@pytest.fixture(autouse=True)
def outside_of_any_client(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def scene(repository: Path) -> Scene:
    return Scene(repository)
