"""Hooks that are answered in the test's process leave no process behind."""

from __future__ import annotations

import pytest

from tests.hooks import world

left = world.left


@pytest.fixture(autouse=True)
def nothing_is_left_to_other_processes(left: list[list[str]]) -> None:
    """A test of such a process starts the hook in a process of its own."""
