"""A page of a repository: asked in this process, or served to a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scripts.page_server import Serving

from tests.web.world import Visitor, World

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.web.browser import Opens


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.workspace.close()


@pytest.fixture
def stranger(world: World) -> Iterator[Visitor]:
    """Somebody who has not signed in."""
    with Visitor([str(world.root)]) as visitor:
        yield visitor


@pytest.fixture
def visitor(stranger: Visitor) -> Visitor:
    """A person who came in with a link."""
    stranger.sign_in()
    return stranger


# Not longer: while it runs, the process has an event loop, and no other test could start one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of a module."""
    from tests.web.browser import started

    with started() as running:
        yield running


@pytest.fixture
def opens(browser: Browser, serving: Serving) -> Iterator[Opens]:
    """`opens("/board")`: a signed-in person's page."""
    from tests.web.browser import person

    with person(browser, serving) as opening:
        yield opening


@pytest.fixture
def serving(world: World) -> Iterator[Serving]:
    """The page on a real socket."""
    with Serving([str(world.root)]) as served:
        yield served
