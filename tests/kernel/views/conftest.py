"""What the tests of views stand on: a real repository, and one that another user can reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernel.views.scene import Scene, give_to_nobody, new_repository, open_to_all, remove


def new_scene(folder: Path) -> Scene:
    return Scene(new_repository(folder))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = new_scene(tmp_path / "project")
    yield scene
    scene.close()


@pytest.fixture
def shared_scene() -> Iterator[Scene]:
    """With two notes, owned by nobody when the tests run as root, and its journal closed."""
    folder = open_to_all()
    scene = Scene(new_repository(folder / "project"))
    scene.note("first")
    scene.note("second")
    scene.workspace.prepare_tool_folder()
    scene.close()
    give_to_nobody(folder)
    yield scene
    scene.close()
    remove(folder)
