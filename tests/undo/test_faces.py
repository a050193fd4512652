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
from tests.mcp.world import Face
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


def test_an_agent_sees_the_same_through_mcp_and_changes_nothing(
    rich: Path, git: Git, prompts: Prompts, holdfast: Holdfast
) -> None:
    prompts.begin("Change")
    bad_idea(rich, git)
    prompts.end()
    tool = Face(rich)
    before = picture_of(rich)
    listed = tool.call("undo")
    assert listed.data == holdfast("undo", "--list", "--json").data
    assert '"Change"' in listed.text
    shown = tool.call("undo", {"back": 1})
    assert shown.data == holdfast("undo", "--json").data
    assert "  one.py" in shown.text
    assert shown.text.endswith(
        "Only a person carries it out, in a terminal of their own: holdfast undo 1"
    )
    assert not tool.call("undo", {"redo": True}).envelope["ok"], "nothing was undone yet"
    assert picture_of(rich) == before
    assert holdfast("undo", "--yes").code == 0
    undone = picture_of(rich)
    again = tool.call("undo", {"redo": True})
    assert again.data == holdfast("redo", "--json").data
    assert again.text.endswith("terminal of their own: holdfast redo")
    assert max(len(one.text) for one in (listed, shown, again)) < 3000
    assert picture_of(rich) == undone
    assert kinds() == ["began", "ended", "undone"]


def test_a_large_change_is_a_small_answer(rich: Path, git: Git, prompts: Prompts) -> None:
    for number in range(40):
        prompts.begin(f"Prompt {number} " + "x" * 500)
        for name in range(number % 40 * 5):
            (rich / f"{'long' * 30}{number}-{name}").write_text("x")
        prompts.end()
    for arguments in ({}, {"back": 1}, {"back": 40}):
        answer = Face(rich).call("undo", arguments)
        assert not answer.failed
        assert len(answer.text) < 6000, arguments


def kinds() -> list[str]:
    with library.open() as workspace:
        found = [one["kind"] for one in workspace.history() if one["stream"].startswith("prompts:")]
    return found[::-1]


def test_a_picture_sees_a_mode(rich: Path) -> None:
    """The comparison of these tests is worth something."""
    before: Picture = picture_of(rich)
    (rich / "one.py").chmod(0o640)
    assert picture_of(rich) != before
