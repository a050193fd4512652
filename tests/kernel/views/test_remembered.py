"""What happens to a view, to its stream and to the folders between two commits of one writer counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.kernel import clock
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from tests.kernel.views.scene import STREAM, Scene


def another_writes(scene: Scene, text: str) -> None:
    workspace = discover(str(scene.root))
    command = {"add": text, "by": "another"}
    open_writer(workspace).execute(STREAM, command, actor="another", now=clock.now())
    workspace.close()


def test_another_writer_in_between_is_kept(scene: Scene) -> None:
    scene.note("one")
    another_writes(scene, "between")
    scene.note("two")
    assert scene.texts() == ["one", "between", "two"]
    assert set(scene.kinds()) == {"noted"}, "the file of the other writer is no edit"
    assert scene.text() == scene.rendered()
    assert scene.problems() == []


def test_another_writer_whose_file_was_put_back_is_kept(scene: Scene) -> None:
    # The file looks as this writer left it, and the stream has gone on.
    scene.note("one")
    aside = scene.root / "aside.md"
    scene.view.rename(aside)
    another_writes(scene, "between")
    aside.rename(scene.view)
    scene.note("two")
    assert scene.texts() == ["one", "between", "two"]
    assert scene.text() == scene.rendered()


def test_an_edit_in_between_is_a_record(scene: Scene) -> None:
    scene.note("one")
    scene.view.write_text(f"{scene.text()}- by hand\n")
    scene.note("two")
    assert scene.texts() == ["one", "by hand", "two"]
    assert scene.kinds() == ["noted", "edited_outside", "noted"]


def test_an_edit_that_another_process_left_to_be_taken_in_is_a_record(scene: Scene) -> None:
    scene.note("one")
    scene.note("two")
    crash = """
crash.register("before append", die)
with open(sys.argv[1] + "/.notes/default.md", "a") as file:
    file.write("- by hand\\n")
note("never")
"""
    assert scene.child(crash).returncode < 0
    scene.note("three")
    assert scene.texts() == ["one", "two", "by hand", "three"]


def test_a_file_removed_in_between_stays_removed(scene: Scene) -> None:
    scene.note("one")
    scene.view.unlink()
    scene.note("two")
    assert not scene.view.exists()
    assert scene.kinds() == ["noted", "removed_outside", "noted"]


def test_a_folder_that_became_a_link_is_not_written_through(scene: Scene, tmp_path: Path) -> None:
    scene.note("one")
    elsewhere = tmp_path / "elsewhere"
    scene.view.parent.rename(elsewhere)
    scene.view.parent.symlink_to(elsewhere)
    before = (elsewhere / scene.view.name).read_text()
    with pytest.raises(NotAllowed):
        scene.note("two")
    assert (elsewhere / scene.view.name).read_text() == before


def test_a_tool_folder_that_became_a_link_is_not_written_through(
    scene: Scene, tmp_path: Path
) -> None:
    scene.note("one")
    scene.workspace.prepare_tool_folder()
    elsewhere = tmp_path / "elsewhere"
    scene.tools.rename(elsewhere)
    scene.tools.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    scene.note("two")
    with pytest.raises(Exception, match="is a link, and nothing is written through it"):
        scene.workspace.prepare_tool_folder("inbox")
    assert sorted(elsewhere.rglob("*")) == before


def test_a_note_makes_no_second_file_that_git_sees(scene: Scene) -> None:
    scene.note("one")
    scene.note("two")
    assert scene.git("status", "--porcelain", "-uall") == "?? .notes/default.md\n"
