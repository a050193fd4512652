"""A repository whose page is open, and hooks that do not outlive their test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.answers.world import Hook, open_page
from tests.session import world as session_world
from tests.web import conftest as web

world, stranger, visitor, serving = web.world, web.stranger, web.visitor, web.serving
holdfast = session_world.holdfast


@pytest.fixture
def asks(repository: Path) -> Iterator[Callable[..., Hook]]:
    """A client asks, while a page is open."""
    started: list[Hook] = []

    def start(*words: str, **facts: Any) -> Hook:
        open_page(repository)
        started.append(Hook(*words, **facts))
        return started[-1]

    yield start
    for hook in started:
        if hook.process.poll() is None:
            hook.kill()
