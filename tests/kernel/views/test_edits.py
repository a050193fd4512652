"""Views may be edited by anyone, at any instant: what they wrote becomes a record."""

from __future__ import annotations

import os
import shutil

import pytest

from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.tree_file import TreeFile, exchange, place_new
from holdfast.kernel.views import files, projection
from tests.kernel.views.scene import VIEW, Scene


def test_an_edit_by_hand_becomes_a_record(scene: Scene) -> None:
    scene.note("one")
    scene.note("two")
    lines = scene.text().splitlines()
    scene.view.write_text("\n".join([*lines[:2], *lines[3:], "- by hand"]) + "\n")

    scene.note("three")

    assert scene.kinds() == ["noted", "noted", "edited_outside", "noted"]
    (edit,) = scene.records("edited_outside")
    assert edit["actor"] == "outside"
    assert edit["body"]["path"] == VIEW
    assert [entry["text"] for entry in edit["body"]["added"]] == ["by hand"]
    assert [entry["text"] for entry in edit["body"]["removed"]] == ["one"]
    assert scene.texts() == ["two", "by hand", "three"]
    assert scene.text() == scene.rendered()


def test_unknown_sections_survive(scene: Scene) -> None:
    scene.note("one")
    mine = "## Plans\n\n| a | table |\n|---|---|\n\n  indented\n\n```\n- not an entry\n```"
    scene.view.write_text(f"{scene.text()}\n{mine}\n")

    for text in ("two", "three"):
        scene.note(text)

    assert scene.text().endswith(f"\n{mine}\n")
    assert scene.texts() == ["one", "two", "three"]
    assert scene.kinds() == ["noted", "edited_outside", "noted", "noted"]


def test_an_edit_that_does_not_parse_is_kept_aside_and_the_state_wins(scene: Scene) -> None:
    scene.note("one")
    broken = "<<<<<<< HEAD\nmy password is hunter2\n=======\n"
    scene.view.write_text(broken)

    scene.note("two")

    (kept,) = scene.quarantined()
    assert kept.read_text() == broken
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    (record,) = scene.records("quarantined")
    assert record["body"]["path"] == VIEW
    assert record["body"]["kept"] == str(kept)
    assert "first line" in record["body"]["reason"]
    assert scene.texts() == ["one", "two"]
    assert scene.text() == scene.rendered()

    scene.note("three")
    assert len(scene.quarantined()) == 1


def test_an_older_version_from_git_is_an_edit_not_a_crash(scene: Scene) -> None:
    scene.note("one")
    scene.git("add", VIEW)
    scene.git("commit", "--quiet", "-m", "one note")
    scene.note("two")
    scene.git("add", VIEW)
    scene.git("commit", "--quiet", "-m", "two notes")
    scene.git("checkout", "--quiet", "HEAD~1", "--", VIEW)

    scene.note("three")

    (edit,) = scene.records("edited_outside")
    assert [entry["text"] for entry in edit["body"]["removed"]] == ["two"]
    assert scene.texts() == ["one", "three"]
    assert scene.text() == scene.rendered()


def test_rewriting_the_same_content_makes_no_record(scene: Scene) -> None:
    scene.note("one")
    os.utime(scene.view, (1, 1))
    scene.note("two")
    copy = scene.view.with_suffix(".copy")
    shutil.copyfile(scene.view, copy)
    copy.replace(scene.view)
    scene.note("three")
    scene.view.write_text(scene.text())
    scene.repair()

    assert scene.kinds() == ["noted"] * 3
    assert scene.text() == scene.rendered()


def test_a_deleted_file_stays_deleted(scene: Scene) -> None:
    scene.note("one")
    scene.view.unlink()

    for text in ("two", "three", "four"):
        outcome = scene.note(text)
        assert [view["status"] for view in outcome["views"]] == ["removed"]
        assert not scene.view.exists()

    assert scene.kinds() == ["noted", "removed_outside", "noted", "noted", "noted"]
    assert scene.texts() == ["one", "two", "three", "four"]


def test_a_deleted_file_lives_again_when_its_owner_makes_it_anew(scene: Scene) -> None:
    scene.note("one")
    content = scene.text()
    scene.view.unlink()
    scene.note("two")
    scene.view.write_text(content + "- by hand\n")

    scene.note("three")

    assert "by hand" in scene.texts()
    assert "three" in scene.texts()
    assert scene.text() == scene.rendered()
    assert scene.kinds().count("removed_outside") == 1
    scene.note("four")
    assert scene.text() == scene.rendered()


def test_a_deleted_file_is_raised_when_asked_for(scene: Scene) -> None:
    scene.note("one")
    scene.view.unlink()
    scene.note("two")
    assert not scene.view.exists()

    scene.repair(raise_removed=True)

    assert scene.text() == scene.rendered()
    scene.note("three")
    assert scene.text() == scene.rendered()


def test_a_file_deleted_just_now_can_be_raised_at_once(scene: Scene) -> None:
    scene.note("one")
    scene.view.unlink()
    scene.repair(raise_removed=True)
    assert scene.text() == scene.rendered()
    assert scene.kinds() == ["noted", "removed_outside"]


def test_a_deleted_folder_counts_as_a_deleted_file(scene: Scene) -> None:
    scene.note("one")
    shutil.rmtree(scene.view.parent)
    scene.note("two")
    assert not scene.view.parent.exists()
    assert scene.kinds() == ["noted", "removed_outside", "noted"]


def test_of_two_edits_between_captures_the_last_is_seen(scene: Scene) -> None:
    scene.note("one")
    before = scene.text()
    scene.view.write_text(before + "- first thought\n")
    scene.view.write_text(before + "- second thought\n")
    scene.note("two")
    assert scene.texts() == ["one", "second thought", "two"]


@pytest.mark.parametrize("text", ["# Notes: default\r\n\r\n{0}- by hand\r\n\r\n## Mine\r\nx\r\n"])
def test_windows_line_ends_and_a_byte_order_mark_are_forgiven(scene: Scene, text: str) -> None:
    scene.note("one\nwith a second line")
    entries = scene.text().split("\n", 2)[2].replace("\n", "\r\n")
    scene.view.write_bytes(b"\xef\xbb\xbf" + text.format(entries).encode())

    scene.note("two")

    assert scene.texts() == ["one\nwith a second line", "by hand", "two"]
    assert scene.state()["rest"] == "## Mine\nx"
    assert scene.text() == scene.rendered()
    assert scene.quarantined() == []


def test_secrets_in_an_edit_do_not_reach_the_journal(scene: Scene) -> None:
    scene.note("one")
    secret = "ghp_" + "a1B2" * 9
    scene.view.write_text(scene.text() + f"- token {secret}\n")
    scene.note("two")
    assert "token" in scene.bodies()
    assert secret not in scene.bodies()
    assert scene.text() == scene.rendered()


# Edits that meet a capture on its way


def test_an_editor_that_held_the_old_file_open_is_heard(scene: Scene) -> None:
    scene.note("one")
    with scene.view.open("r+") as editor:
        content = editor.read()
        scene.note("two")
        editor.write("- written late\n")
    assert "written late" not in scene.text()
    assert content in scene.text()

    scene.note("three")

    assert sorted(scene.texts()) == ["one", "three", "two", "written late"]
    assert scene.text() == scene.rendered()


def test_an_editor_that_writes_while_the_next_capture_is_on_its_way_is_heard(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # After the next capture looked at the displaced file, and before it removes it.
    scene.note("one")
    with scene.view.open("r+") as editor:
        editor.read()
        scene.note("two")

        def write_first(aside: TreeFile, target: TreeFile) -> bool:
            if not editor.closed:
                editor.write("- written late\n")
                editor.close()
            return exchange(aside, target)

        monkeypatch.setattr(projection, "exchange", write_first)
        scene.note("three")
    scene.note("four")
    assert "written late" in scene.bodies()


def test_an_edit_between_look_and_exchange_is_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.note("one")
    edits = iter(["- while it wrote\n"])

    def edit_first(aside: TreeFile, target: TreeFile) -> bool:
        with open(str(target), "a", encoding="utf-8") as file:
            file.write(next(edits, ""))
        return exchange(aside, target)

    monkeypatch.setattr(projection, "exchange", edit_first)
    scene.note("two")

    assert scene.kinds() == ["noted", "noted", "edited_outside"]
    assert sorted(scene.texts()) == ["one", "two", "while it wrote"]
    assert scene.text() == scene.rendered()


def test_a_file_created_between_look_and_first_projection_is_kept(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:

    def create_first(aside: TreeFile, target: TreeFile) -> None:
        with open(str(target), "w", encoding="utf-8") as file:
            file.write("# Notes: default\n\n- I was first\n")
        place_new(aside, target)

    monkeypatch.setattr(projection, "place_new", create_first)
    scene.note("one")

    assert sorted(scene.texts()) == ["I was first", "one"]
    assert scene.text() == scene.rendered()


def test_a_file_deleted_between_look_and_exchange_stays_deleted(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.note("one")

    def delete_first(aside: TreeFile, target: TreeFile) -> bool:
        os.unlink(str(target))
        return exchange(aside, target)

    with monkeypatch.context() as patch:
        patch.setattr(projection, "exchange", delete_first)
        outcome = scene.note("two")
    assert [view["status"] for view in outcome["views"]] == ["removed"]

    scene.note("three")

    assert not scene.view.exists()
    assert scene.kinds() == ["noted", "noted", "removed_outside", "noted"]


def test_a_write_just_after_the_file_was_read_is_not_taken_for_read(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An editor appends between our last read and the question for the file's identity.
    scene.note("one")
    scene.view.write_text(scene.text() + "- first edit\n")
    read = os.read
    edits = iter(["- second edit\n"])

    def append_at_the_end(descriptor: int, length: int) -> bytes:
        chunk = read(descriptor, length)
        if not chunk:
            with scene.view.open("a") as file:
                file.write(next(edits, ""))
        return chunk

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "read", append_at_the_end)  # type: ignore[attr-defined]
        scene.note("two")
    scene.note("three")

    assert "second edit" in scene.bodies()


def test_an_edit_of_the_same_size_in_the_same_instant_is_noticed(scene: Scene) -> None:
    for number in range(50):
        scene.note(f"number {number:02d} ..")
        before = scene.view.stat()
        with scene.view.open("r+b") as file:
            content = file.read().replace(b"..", b"!!")
            file.seek(0)
            file.write(content)
        assert scene.view.stat().st_size == before.st_size
        assert scene.view.stat().st_ino == before.st_ino
        # As if the edit had come in the millisecond in which we wrote.
        millisecond = before.st_mtime_ns // 1_000_000 * 1_000_000
        os.utime(scene.view, ns=(millisecond, millisecond))

    scene.repair()

    assert scene.texts() == [f"number {number:02d} !!" for number in range(50)]
    assert len(scene.records("edited_outside")) == 50


def test_an_edit_that_is_taken_back_before_anything_was_written(scene: Scene) -> None:
    """What was absorbed is what the next editor looks at, though we have not written the file again."""
    scene.note("one")
    before = scene.text()
    scene.view.write_text(before + "- by hand\n")
    with pytest.raises(HoldfastError):
        scene.writer.execute("note:default", {"add": "", "by": "x"}, actor="x", now=clock.now())
    assert "by hand" in scene.texts()
    scene.view.write_text(before)
    scene.note("two")
    assert scene.texts() == ["one", "two"]
    assert scene.text() == scene.rendered()


def test_an_editor_that_only_appends_takes_nothing_away(scene: Scene) -> None:
    """`note A; exec 3>>.notes/default.md; note B0; note B1; echo line >&3; note C`"""
    scene.note("A")
    with scene.view.open("a") as editor:
        scene.note("B0")
        scene.note("B1")
        editor.write("line\n")
        editor.flush()
        scene.note("C")
        assert scene.texts() == ["A", "B0", "B1", "C"]
        assert scene.text().endswith("\n\nline\n")
        for number in range(3):
            editor.write(f"- more {number}\n")
            editor.flush()
            scene.note(f"D{number}")
    scene.note("E")

    assert scene.texts() == ["A", "B0", "B1", "C", "D0", "D1", "D2", "E"]
    assert scene.text().endswith("\n\nline\n- more 0\n- more 1\n- more 2\n"), "nothing is doubled"
    assert scene.text() == scene.rendered()
    assert [file.name for file in scene.asides() if ".edited" in file.name] == []


def test_an_entry_that_is_appended_to_an_older_file_is_taken_in_once(scene: Scene) -> None:
    scene.note("A")
    with scene.view.open("a") as editor:
        scene.note("B")
        for number in range(3):
            editor.write(f"- by hand {number}\n")
            editor.flush()
            scene.note(f"C{number}")
    scene.repair()

    assert sorted(scene.texts()) == sorted(
        ["A", "B", "C0", "C1", "C2", "by hand 0", "by hand 1", "by hand 2"]
    )


@pytest.mark.parametrize("in_place", [True, False])
def test_a_save_of_an_older_copy_takes_out_nothing_that_it_never_showed(
    scene: Scene, in_place: bool
) -> None:
    scene.note("one")
    scene.note("two")
    copy = scene.text().replace("one", "one, corrected") + "- by hand\n"
    for text in ("three", "four", "five"):
        scene.note(text)

    if in_place:
        scene.view.write_text(copy)
    else:
        (scene.root / "copy").write_text(copy)
        (scene.root / "copy").rename(scene.view)
    scene.note("six")

    assert sorted(scene.texts()) == sorted(
        ["two", "three", "four", "five", "one, corrected", "by hand", "six"]
    )
    assert scene.text() == scene.rendered()


def test_what_an_author_removed_from_an_older_copy_goes_and_the_rest_stays(scene: Scene) -> None:
    for text in ("one", "two", "three"):
        scene.note(text)
    lines = [line for line in scene.text().splitlines() if not line.endswith("two")]
    scene.note("four")

    scene.view.write_text("\n".join([*lines, "- by hand"]) + "\n")
    scene.note("five")

    assert sorted(scene.texts()) == sorted(["one", "three", "four", "by hand", "five"])


def test_a_line_that_stood_there_for_long_was_seen_by_who_removes_it(scene: Scene) -> None:
    scene.note("one")
    scene.note("two")
    lines = scene.text().splitlines()

    scene.view.write_text("\n".join([*lines[:3], "- by hand"]) + "\n")
    order = Order("note:default", {"add": "three", "by": "me"})
    commit(scene.writer, [order], actor="me", now=clock.now() + clock.HOUR)

    assert scene.texts() == ["one", "by hand", "three"]
