"""A workspace with nothing of the developer's own, and a server for it in each era."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.gates.person import AGENT_VARIABLES
from tests.cli import conftest as command_line
from tests.mcp.world import ERAS, Face, Process

holdfast = command_line.holdfast


@pytest.fixture(autouse=True)
def nothing_of_the_developer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client's session or files, no tracker."""
    keys = ("LINEAR_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "CCC_PROJECT_ROOT")
    for name in os.environ:
        if name.startswith((*AGENT_VARIABLES, "XDG_", "CLAUDE_CONFIG_DIR", *keys)):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOLDFAST_ACTOR", "tester")


@pytest.fixture
def face(repository: Path) -> Face:
    """A server in the stateless era."""
    return Face(repository)


@pytest.fixture(params=ERAS)
def either(repository: Path, request: pytest.FixtureRequest) -> Face:
    """A server in each era of the protocol."""
    return Face(repository, request.param)


@pytest.fixture
def process(repository: Path) -> Iterator[Process]:
    """`holdfast mcp`, started."""
    started = Process(repository)
    yield started
    started.kill()
