"""Servers for tests in any folder: `from tests.trackers.fixtures import linear_server` in a conftest."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from holdfast.trackers.github import GitHub
from holdfast.trackers.http import Key
from holdfast.trackers.linear import Linear
from tests.trackers.fake_github import GITHUB_TOKEN, REPOSITORY, FakeGitHub
from tests.trackers.fake_linear import FakeLinear

PATIENCE = 30.0  # seconds for what must succeed; a loaded machine is slow, not wrong


@pytest.fixture
def linear_server() -> Iterator[FakeLinear]:
    """Linear with the issue ENG-12; `settings()` and `environment()` lead a tracker to it."""
    server = FakeLinear()
    yield server
    server.stop()


@pytest.fixture
def github_server() -> Iterator[FakeGitHub]:
    """GitHub with the issue example/widgets#12, likewise."""
    server = FakeGitHub()
    yield server
    server.stop()


def linear(server: FakeLinear, key: str = "") -> Linear:
    """A tracker for this server."""
    return Linear(Key(key or server.key), server.url)


def github(server: FakeGitHub, token: str = GITHUB_TOKEN) -> GitHub:
    """A tracker for this server."""
    return GitHub(Key(token), REPOSITORY, server.url)


def soon(seconds: float = PATIENCE) -> float:
    """A deadline."""
    return time.monotonic() + seconds
