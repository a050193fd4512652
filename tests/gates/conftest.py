"""Gates are asked in a repository, by whoever runs the tests, outside of every agent's client."""

from __future__ import annotations

import os

import pytest

from holdfast.gates.person import AGENT_VARIABLES
from tests.cli import conftest as command_line

holdfast = command_line.holdfast


@pytest.fixture(autouse=True)
def no_agent_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may themselves be run by an agent."""
    for name in list(os.environ):
        if name.startswith(AGENT_VARIABLES):
            monkeypatch.delenv(name)
