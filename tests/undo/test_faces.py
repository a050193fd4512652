"""An undo through each of its faces: one outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast as library
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.undo import scene
from tests.undo.scene import Picture, Prompts, bad_idea, picture_of

holdfast, rich, prompts = command_line.holdfast, scene.rich, scene.prompts


@pytest.mark.parametrize("face", ["cli", "api"])
def test_both_faces_take_back_the_same(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast, face: str
) -> None:
    before = picture_of(rich)
    prompts.begin("Change")
    bad_idea(rich, git)
    prompts.end()
    after = picture_of(rich)
    calls: dict[str, tuple[Callable[[], Any], ...]] = {
        "cli": (
            lambda: holdfast("undo", "--list", "--json").data["prompts"],
            lambda: holdfast("undo", "--dry-run", "--json").data,
            lambda: holdfast("undo", "--yes", "--json").data,
            lambda: holdfast("redo", "--yes", "--json").data,
        ),
        "api": (
            library.open().undo.prompts,
            library.open().undo.preview,
            library.open().undo.run,
            lambda: library.open().undo.run(redo=True),
        ),
    }
    listed, shown, undo, redo = calls[face]
    (row,) = listed()
    assert (row["number"], row["text"]) == (1, "Change")
    report = shown()
    assert "line seven" in report["diff"]
    assert not report["done"]
    done = undo()
    assert done["done"]
    assert [one["path"] for one in done["files"]] == [one["path"] for one in report["files"]]
    assert picture_of(rich) == before
    assert redo()["kind"] == "redo"
    assert picture_of(rich) == after
    assert kinds() == ["began", "ended", "undone", "redone"]


def kinds() -> list[str]:
    with library.open() as workspace:
        found = [one["kind"] for one in workspace.history() if one["stream"].startswith("prompts:")]
    return found[::-1]


def test_a_picture_sees_a_mode(rich: Path) -> None:
    """The comparison of these tests is worth something."""
    before: Picture = picture_of(rich)
    (rich / "one.py").chmod(0o640)
    assert picture_of(rich) != before
