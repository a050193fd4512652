"""Whatever stands where a view should be: nothing is followed, nothing hangs, nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.views.files import target_of
from tests.kernel.views.scene import Scene


def test_a_link_is_never_written_through(scene: Scene, tmp_path: Path) -> None:
    scene.note("one")
    outside = tmp_path / "precious"
    outside.write_text("precious\n")
    scene.view.unlink()
    scene.view.symlink_to(outside)

    scene.note("two")
    scene.note("three")

    assert outside.read_text() == "precious\n"
    assert not scene.view.is_symlink()
    assert scene.text() == scene.rendered()
    (kept,) = scene.quarantined()
    assert kept.read_text() == f"link to {outside}\n"
    (record,) = scene.records("quarantined")
    assert str(outside) in record["body"]["reason"]
    assert "precious\n" not in scene.bodies()


def test_a_dangling_link_is_replaced_and_its_target_not_created(
    scene: Scene, tmp_path: Path
) -> None:
    scene.note("one")
    scene.view.unlink()
    scene.view.symlink_to(tmp_path / "nowhere")
    scene.note("two")
    assert not (tmp_path / "nowhere").exists()
    assert scene.text() == scene.rendered()


def test_a_link_before_the_first_capture_is_not_written_through(
    scene: Scene, tmp_path: Path
) -> None:
    outside = tmp_path / "precious"
    outside.write_text("precious\n")
    scene.view.parent.mkdir()
    scene.view.symlink_to(outside)
    scene.note("one")
    scene.note("two")
    assert outside.read_text() == "precious\n"
    assert scene.text() == scene.rendered()
    assert [kept.read_text() for kept in scene.quarantined()] == [f"link to {outside}\n"]


def test_a_folder_in_the_views_place_is_left_alone(scene: Scene) -> None:
    scene.note("one")
    scene.view.unlink()
    scene.view.mkdir()
    (scene.view / "mine").write_text("mine\n")

    outcome = scene.note("two")

    assert [(view["status"], view["reason"]) for view in outcome["views"]] == [
        ("failed", "a folder")
    ]
    assert scene.texts() == ["one", "two"]
    assert sorted(os.listdir(scene.view)) == ["mine"]
    assert (scene.view / "mine").read_text() == "mine\n"

    (scene.view / "mine").unlink()
    scene.view.rmdir()
    scene.repair(raise_removed=True)
    assert scene.text() == scene.rendered()


def test_a_file_in_the_place_of_the_views_folder_fails_the_view_alone(scene: Scene) -> None:
    scene.view.parent.write_text("mine\n")
    outcome = scene.note("one")
    assert [view["status"] for view in outcome["views"]] == ["failed"]
    assert scene.texts() == ["one"]
    assert scene.view.parent.read_text() == "mine\n"


@pytest.mark.parametrize("comes_first", [True, False])
def test_a_pipe_does_not_hang(scene: Scene, comes_first: bool) -> None:
    if comes_first:
        scene.view.parent.mkdir()
    else:
        scene.note("one")
        scene.view.unlink()
    os.mkfifo(scene.view)

    done = scene.child("print(note('two')['views'][0]['status'])", timeout=10)

    assert done.stdout == "failed\n", done.stderr
    assert scene.texts()[-1] == "two"
    assert scene.view.is_fifo()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"# Notes: default\n\n- caf\xe9\n", "not UTF-8 at byte 23"),
        (b"# Notes: default\n\n- a\0b\n", "binary data"),
        (b"\xff\xfe#\0 \0", "not UTF-8"),
        (b"", "first line"),
    ],
)
def test_bytes_that_are_no_text_go_to_quarantine(scene: Scene, content: bytes, reason: str) -> None:
    scene.note("one")
    scene.view.write_bytes(content)

    scene.note("two")

    (record,) = scene.records("quarantined")
    assert reason in record["body"]["reason"]
    (kept,) = scene.quarantined()
    assert kept.read_bytes() == content
    assert kept.stat().st_mode & 0o777 == 0o600
    assert scene.texts() == ["one", "two"]
    assert scene.text() == scene.rendered()


def test_a_hundred_megabytes_of_garbage_are_kept_without_being_read_into_memory(
    scene: Scene,
) -> None:
    scene.note("one")
    block = os.urandom(1 << 20)
    with scene.view.open("wb") as file:
        for _ in range(100):
            file.write(block)
    code = """
import resource
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
workspace.journal
before = used()
note("two")
print(used() - before)
"""

    done = scene.child(code)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 60
    (kept,) = scene.quarantined()
    assert kept.stat().st_size == 100 << 20
    assert scene.text() == scene.rendered()
    (record,) = scene.records("quarantined")
    assert "too large" in record["body"]["reason"]


# Permissions: tried by a user to whom they apply


STATUS = """
for text in sys.argv[2:]:
    outcome = note(text)
    view = outcome["views"][0] if outcome["views"] else {"status": "none", "reason": ""}
    print("queued" if outcome["queued"] else view["status"], view["reason"], sep=":")
"""


def test_an_unreadable_file_fails_the_view_alone(shared_scene: Scene) -> None:
    scene = shared_scene
    content = scene.text() + "- by hand\n"
    scene.view.write_text(content)
    scene.view.chmod(0)

    done = scene.child(STATUS, "third", "fourth", as_nobody=True)

    reason = "failed:cannot be read (Permission denied)\n"
    assert done.stdout == reason * 2, done.stderr
    assert scene.texts() == ["first", "second", "third", "fourth"]
    scene.view.chmod(0o644)
    assert scene.text() == content
    assert scene.child(STATUS, "fifth", as_nobody=True).stdout == "written:\n"
    assert sorted(scene.texts()) == ["by hand", "fifth", "first", "fourth", "second", "third"]
    assert scene.text() == scene.rendered()


def test_a_read_only_folder_fails_the_view_alone(shared_scene: Scene) -> None:
    scene = shared_scene
    content = scene.text()
    scene.view.parent.chmod(0o555)

    done = scene.child(STATUS, "third", "fourth", "fifth", as_nobody=True)

    assert done.stdout == "failed:Permission denied\n" * 3, done.stderr
    assert scene.texts() == ["first", "second", "third", "fourth", "fifth"]
    assert scene.text() == content
    scene.view.parent.chmod(0o755)
    assert scene.child(STATUS, "sixth", as_nobody=True).stdout == "written:\n"
    assert scene.text() == scene.rendered()
    assert set(scene.kinds()) == {"noted"}


def test_a_closed_folder_fails_the_view_alone(shared_scene: Scene) -> None:
    scene = shared_scene
    scene.view.parent.chmod(0)

    done = scene.child(STATUS, "third", "fourth", as_nobody=True)

    assert done.stdout == "failed:Permission denied\n" * 2, done.stderr
    assert scene.texts() == ["first", "second", "third", "fourth"]
    scene.view.parent.chmod(0o755)
    assert scene.child(STATUS, "fifth", as_nobody=True).stdout == "written:\n"
    assert scene.text() == scene.rendered()


def test_a_home_that_takes_no_displaced_file_leaves_it_beside_the_view(scene: Scene) -> None:
    """Such as a home on another file system; here a file is in the way."""
    Path(scene.workspace.home).mkdir(parents=True, exist_ok=True)
    (Path(scene.workspace.home) / "displaced").write_text("in the way\n")
    scene.note("one")
    with scene.view.open("a") as editor:
        scene.note("two")
        editor.write("- written late\n")
    scene.note("three")
    scene.note("four")
    assert sorted(scene.texts()) == ["four", "one", "three", "two", "written late"]
    assert scene.text() == scene.rendered()
    (left,) = [name for name in os.listdir(scene.view.parent) if name != scene.view.name]
    assert left.startswith(".default.md.holdfast.")


# Names


@pytest.mark.parametrize(
    "name",
    ["../outside.md", "/etc/passwd", "a/../../b", "./a", "a//b", "", "a/", "..", "a\0b"],
)
def test_a_name_that_leaves_the_workspace_is_refused(scene: Scene, name: str) -> None:
    with pytest.raises(NotAllowed) as refusal:
        target_of(scene.workspace, name)
    assert refusal.value.kind == "outside_workspace"
    assert refusal.value.exit_code == 4


def test_a_folder_that_links_out_of_the_workspace_is_refused(scene: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    scene.view.parent.symlink_to(outside)

    with pytest.raises(NotAllowed):
        scene.note("one")

    assert os.listdir(outside) == []
    assert scene.records() == []


def test_a_folder_turned_into_a_link_is_refused_from_then_on(scene: Scene, tmp_path: Path) -> None:
    scene.note("one")
    outside = tmp_path / "outside"
    scene.view.parent.rename(outside)
    scene.view.parent.symlink_to(outside)
    before = (outside / "default.md").read_bytes()

    with pytest.raises(NotAllowed):
        scene.note("two")

    assert (outside / "default.md").read_bytes() == before
    assert scene.texts() == ["one"]
