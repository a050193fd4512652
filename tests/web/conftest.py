"""A page of a repository: asked in this process, or served to a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.page_server import Serving

from tests.web.world import Visitor, World


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.workspace.close()


@pytest.fixture
def stranger(world: World) -> Iterator[Visitor]:
    """A visitor who has not signed in."""
    with Visitor([str(world.root)]) as visitor:
        yield visitor


@pytest.fixture
def visitor(stranger: Visitor) -> Visitor:
    """A person who came in with a link."""
    stranger.sign_in()
    return stranger


@pytest.fixture
def serving(world: World) -> Iterator[Serving]:
    """The page on a real socket."""
    with Serving([str(world.root)]) as served:
        yield served
