"""A workspace with nothing of the developer's own, and a server for it in each era."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.mcp.world import ERAS, Face, Process

holdfast = command_line.holdfast


@pytest.fixture(autouse=True)
def actor(monkeypatch: pytest.MonkeyPatch) -> None:
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
