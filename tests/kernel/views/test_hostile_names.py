"""Names beside a view that a repository or a stranger took: a note is written all the same, and `doctor` names them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel.digest import digest
from holdfast.kernel.workspace import discover
from tests.conftest import Git
from tests.kernel.views.scene import IS_ROOT, NOBODY, VIEW, Scene
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast


def give_away(path: Path) -> None:
    if not IS_ROOT:
        pytest.skip("only root can give a file away")
    path.write_text("planted\n")
    os.chown(path, NOBODY, NOBODY)


OLD_STEM = digest(VIEW.encode()).hex()[:16]
BESIDE = ".notes/.default.md.holdfast"
KINDS: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_text("planted\n"),
    "folder": lambda path: (path / "inner").mkdir(parents=True),
    "link": lambda path: path.symlink_to("/etc/hostname"),
    "dangling link": lambda path: path.symlink_to("/nowhere"),
    "pipe": os.mkfifo,
    "file of another user": give_away,
}
NAMES = [
    f".holdfast/views/{OLD_STEM}.x.edited",
    f".holdfast/views/{OLD_STEM}.edited",
    f".holdfast/views/{OLD_STEM}.1.abcdefgh.edited",
    f".holdfast/views/{OLD_STEM}.12345",
    ".holdfast/views/.git",
    ".holdfast/views/what is this",
    f"{BESIDE}.x.edited",
    f"{BESIDE}.1.abcdefgh.edited",
    f"{BESIDE}.1.abcdefgh.edited.seen",
    f"{BESIDE}.12345",
    f"{BESIDE}.",
]


@pytest.mark.matrix
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_strange_thing_at_a_name_of_ours_stops_no_note(
    repository: Path, holdfast: Holdfast, name: str, kind: str
) -> None:
    holdfast("note", "one")
    path = repository / name
    path.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](path)
    for text in ("two", "three"):
        answer = holdfast("note", text)
        assert answer.code == 0, answer
    shown = (repository / VIEW).read_text()
    assert all(text in shown for text in ("one", "two", "three"))
    found = holdfast("doctor", "--fix")
    if os.path.lexists(path) and not name.endswith(".git"):
        assert kind == "file", found.out  # a regular file of this user, which `gc` removes in a day
    assert "asides" not in [
        check["id"]
        for check in holdfast("doctor", "--json").data["checks"]
        if check["status"] != "ok"
    ]
    assert holdfast("note", "four").code == 0
    assert "four" in (repository / VIEW).read_text()


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "file of another user"])
def test_doctor_names_a_strange_thing_and_moves_it_aside(
    repository: Path, holdfast: Holdfast, kind: str
) -> None:
    holdfast("note", "one")
    path = repository / f"{BESIDE}.1.abcdefgh.edited"
    KINDS[kind](path)
    named = holdfast("doctor")
    assert named.code == 1
    assert f"{path} cannot be read: it has the " in named.out
    mended = holdfast("doctor", "--fix")
    assert f"{path} is now {repository}/.git/holdfast/aside/" in mended.out
    assert not os.path.lexists(path)


def test_an_edit_that_came_with_a_repository_is_none(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    holdfast("note", "one")
    for name in (f"{BESIDE}.1.abcdefgh.edited", f".holdfast/views/{OLD_STEM}.1.abcdefgh.edited"):
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Notes: default\n\n- planted by the author of the clone\n")
        git("add", "-f", name)
    git("commit", "-qm", "planted")
    holdfast("note", "two")
    assert "planted" not in holdfast("note").out
    assert "came with the repository" in holdfast("doctor").out


# What an earlier version left in `.holdfast/views`


def move_to_old_place(scene: Scene) -> list[Path]:
    """The files aside of the view, where an earlier version had them."""
    folder = scene.tools / "views"
    folder.mkdir(parents=True)
    moved = []
    for path in scene.asides():
        end = path.name.removeprefix(f".{scene.view.name}.holdfast.")
        moved.append(path.rename(folder / f"{OLD_STEM}.{end}"))
    return moved


def test_a_view_that_an_earlier_version_staged_is_put_in_place(scene: Scene) -> None:
    scene.note("one")
    scene.child("crash.register('before placing', die)\nnote('two')")
    assert "two" not in scene.text()
    move_to_old_place(scene)
    scene.note("three")
    assert scene.texts() == ["one", "two", "three"]
    assert scene.text() == scene.rendered()
    assert set(scene.kinds()) == {"noted"}
    assert not (scene.tools / "views").exists()


def test_an_edit_that_an_earlier_version_displaced_becomes_a_record(scene: Scene) -> None:
    scene.note("one")
    with scene.view.open("a") as editor:
        scene.note("two")
        moved = move_to_old_place(scene)
        assert moved
        editor.write("- written late\n")
    scene.close()
    scene.note("three")
    assert sorted(scene.texts()) == ["one", "three", "two", "written late"]
    assert not (scene.tools / "views").exists()


def test_an_edit_that_waited_for_an_earlier_version_becomes_a_record(scene: Scene) -> None:
    scene.note("one")
    folder = scene.tools / "views"
    folder.mkdir(parents=True)
    (folder / f"{OLD_STEM}.1.0a1b2c3d.edited").write_text(scene.text() + "- by hand\n")
    scene.close()
    scene.note("two")
    assert sorted(scene.texts()) == ["by hand", "one", "two"]
    assert not folder.exists()


# Stale files


def test_what_a_crash_left_staged_goes_with_the_next_note_once_it_is_old(scene: Scene) -> None:
    scene.note("one")
    scene.child("crash.register('before append', die)\nnote('never committed')")
    (left,) = scene.view.parent.glob(".*.holdfast.*")
    scene.note("two")
    assert left.exists(), "another process may be at work"
    os.utime(left, (1, 1))
    scene.close()
    scene.note("three")
    assert not left.exists()
    assert os.listdir(scene.view.parent) == [scene.view.name]


# An inbox is read as hostile


def queue(command: dict[str, Any], stream: str) -> Path:
    queued = {
        "id": "q1",
        "stream": stream,
        "command": command,
        "actor": "stranger",
        "fence": None,
        "at": "2026-01-02T03:04:05.006Z",
    }
    path = Path(discover().prepare_tool_folder("inbox")) / "1.json"
    path.write_text(json.dumps(queued))
    return path


FOLDERS = [
    ".git/refs/heads",
    ".GIT/refs/heads",
    "sub/.git",
    ".git /hooks",
    ".git.",
    "git~1/x",
    ".g\u200cit/hooks",
    ".git::$INDEX_ALLOCATION",
    "../outside",
    "/tmp",
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_inbox_file_writes_a_view_into_gits_folder(
    repository: Path, holdfast: Holdfast, git: Git, folder: str
) -> None:
    holdfast("note", "one")
    (repository / "sub/.git").mkdir(parents=True)
    (repository.parent / "outside").mkdir()

    def listing() -> list[str]:
        folders = [repository / ".git", repository / "sub", repository.parent / "outside"]
        every = [path for top in folders for path in top.rglob("*")]
        return sorted(str(path) for path in every if "/.git/holdfast/" not in str(path))

    before, top = listing(), sorted(os.listdir(repository))
    seen = {"worktree": "", "repository": "", "commit": None, "branch": None}
    capture = {
        "do": "capture",
        "given": {"current": "x"},
        "folder": folder,
        "profile": "manual",
        "reason": "handoff",
        "world": {**seen, "dirty": None, "dirty_files": []},
        "claims": [],
    }
    path = queue(capture, "session:s1")
    assert holdfast("note", "takes the inbox in").code == 0
    assert listing() == before
    assert sorted({*os.listdir(repository)} - {".holdfast"}) == top
    assert not path.exists()
    assert path.with_name(f"{path.name}.refused").exists()
    assert git("branch", "--list").strip().startswith("*")
