"""Plans in a fresh repository, with nothing of the developer's own around."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.gates.person import AGENT_VARIABLES
from tests.cli import conftest as command_line
from tests.plans.world import World

holdfast = command_line.holdfast


@pytest.fixture(autouse=True)
def nothing_of_the_developer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client's files, no agent's variables, no limits of the developer's own."""
    for name in os.environ:
        if name.startswith((*AGENT_VARIABLES, "XDG_", "CLAUDE_CONFIG_DIR")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.close()
