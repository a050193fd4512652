"""A page of a repository: asked in this process, or served to a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scripts.page_server import Serving

from holdfast.gates.person import AGENT_VARIABLES
from tests.web.world import Visitor, World

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.web.browser import Opens


@pytest.fixture(autouse=True)
def no_agent_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests may themselves be run by an agent; and no client of this machine is looked at."""
    for name in list(os.environ):
        if name.startswith(AGENT_VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


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
