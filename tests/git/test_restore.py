"""Restoring: the work tree becomes the snapshot, what was there is kept, and no loss is possible."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.git import restore as restoring
from holdfast.git.restore import restore
from holdfast.git.shadow_index import Shadow
from holdfast.git.snapshot import create, find, list_snapshots
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.tree_file import TreeFile
from tests.conftest import Git
from tests.git.conftest import Untouched, contents, text_of
from tests.git.test_status import BYTES, NAMES, submodule
from tests.swapping import Swapper


def refused(root: Path, id: str, *paths: str, limit: int = 50_000_000) -> HoldfastError:
    with pytest.raises(HoldfastError) as caught:
        restore(str(root), id, paths, limit=limit)
    assert caught.value.kind == "unsnapshotted"
    return caught.value


@pytest.fixture
def rich(repository: Path, git: Git) -> Path:
    """A work tree with one of everything, partly staged."""
    for name in ("modified", "deleted", "staged", "dir/one", "dir/two"):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(f"{name} 1\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "rich")
    (repository / "modified").write_text("modified 2\n")
    (repository / "deleted").unlink()
    (repository / "staged").write_text("staged 2\n")
    git("add", "staged")
    (repository / "program").write_text("#!/bin/sh\n")
    (repository / "program").chmod(0o755)
    (repository / "link").symlink_to("nowhere")
    (repository / "empty").touch()
    for name in [*NAMES, os.fsdecode(BYTES)]:
        (repository / name).write_text(name.encode("utf-8", "replace").decode())
    return repository


def wreck(root: Path) -> None:
    """Changes of every kind after the snapshot."""
    (root / "modified").write_text("wrecked")
    (root / "deleted").write_text("is back")
    (root / "staged").unlink()
    (root / "program").chmod(0o644)
    (root / "link").unlink()
    (root / "link").mkdir()
    (root / "link" / "inner").write_text("x")
    (root / "empty").write_text("no more")
    for name in ("one", "two"):
        (root / "dir" / name).unlink()
    (root / "dir").rmdir()
    (root / "dir").write_text("a file now")
    for name in [*NAMES, os.fsdecode(BYTES)]:
        (root / name).unlink()
    (root / "brand new").write_text("x")


def test_everything_and_back_again(rich: Path, untouched: Untouched) -> None:
    before = contents(rich)
    snapshot = create(str(rich))
    wreck(rich)
    wrecked = contents(rich)

    with untouched(rich, files=False):
        done = restore(str(rich), snapshot["id"][:8])

    assert contents(rich) == before
    assert {"modified", "dir/one", "link", "program", *NAMES} <= set(done["written"])
    assert {"deleted", "brand new", "link/inner"} <= set(done["deleted"])
    assert done["unchanged"] == len(before) - len(done["written"])

    with untouched(rich, files=False):
        undone = restore(str(rich), done["before"])
    assert contents(rich) == wrecked
    assert find(str(rich), undone["before"])["tree"] == snapshot["tree"]


def test_a_dry_run_only_tells(rich: Path, untouched: Untouched) -> None:
    snapshot = create(str(rich))
    wreck(rich)
    with untouched(rich):
        told = restore(str(rich), snapshot["id"], dry_run=True)
    assert (told["dry_run"], told["before"]) == (True, "")
    assert len(list_snapshots(str(rich))) == 1
    done = restore(str(rich), snapshot["id"])
    assert done == {**told, "dry_run": False, "before": done["before"]}


def test_single_paths(rich: Path, untouched: Untouched) -> None:
    snapshot = create(str(rich))
    wreck(rich)
    wrecked = contents(rich)

    with untouched(rich, files=False):
        done = restore(str(rich), snapshot["id"], ["modified", "dir"])

    assert sorted(done["written"]) == ["dir/one", "dir/two", "modified"]
    # It stood in the way, and is in the snapshot of what was there.
    assert done["deleted"] == ["dir"]
    assert text_of(rich, find(str(rich), done["before"])["commit"], "dir") == b"a file now"
    changed = {b"modified", b"dir", b"dir/one", b"dir/two"}
    now = contents(rich)
    assert {k: v for k, v in now.items() if k not in changed} == {
        k: v for k, v in wrecked.items() if k not in changed
    }
    assert (rich / "modified").read_text() == "modified 2\n"


def test_a_folder_keeps_what_the_snapshot_has_not_got(repository: Path) -> None:
    (repository / "dir").mkdir()
    (repository / "dir" / "old").write_text("1")
    snapshot = create(str(repository))
    (repository / "dir" / "old").write_text("2")
    (repository / "dir" / "new").write_text("2")

    assert restore(str(repository), snapshot["id"], ["dir/"])["deleted"] == []
    assert (repository / "dir" / "old").read_text() == "1"
    assert (repository / "dir" / "new").exists()


def test_paths_are_seen_from_the_asked_folder(repository: Path) -> None:
    (repository / "dir").mkdir()
    (repository / "dir" / "file").write_text("1")
    snapshot = create(str(repository))
    (repository / "dir" / "file").write_text("2")
    assert restore(str(repository / "dir"), snapshot["id"], ["file"])["written"] == ["dir/file"]


def test_paths_that_are_not_there_or_outside(repository: Path) -> None:
    snapshot = create(str(repository))
    with pytest.raises(NotFound):
        restore(str(repository), snapshot["id"], ["missing"])
    with pytest.raises(Usage):
        restore(str(repository), snapshot["id"], ["../x"])
    with pytest.raises(NotFound):
        restore(str(repository), "ffffffff")


def test_an_ignored_file_in_the_way_is_not_lost(repository: Path, untouched: Untouched) -> None:
    (repository / "config").write_text("1")
    (repository / "folder").write_text("1")
    (repository / "parent").mkdir()
    (repository / "parent" / "child").write_text("1")
    snapshot = create(str(repository))
    for name in ("config", "folder"):
        (repository / name).unlink()
    (repository / "parent" / "child").unlink()
    (repository / "parent").rmdir()
    (repository / ".gitignore").write_text("/config\n/folder/secret\n/parent\n")
    (repository / "config").write_text("precious")
    (repository / "folder").mkdir()
    (repository / "folder" / "secret").write_text("precious")
    (repository / "folder" / "plain").write_text("in the snapshot")
    (repository / "parent").write_text("precious")

    with untouched(repository):
        error = refused(repository, snapshot["id"])
        for path in ("config", "folder", "parent/child"):
            refused(repository, snapshot["id"], path)

    assert "config, folder/secret, parent" in error.message
    assert "folder/plain" not in error.message
    assert error.hint


def test_a_file_too_large_to_be_held_is_not_lost(repository: Path, untouched: Untouched) -> None:
    (repository / "data").write_text("small")
    snapshot = create(str(repository))
    (repository / "data").write_text("x" * 200)
    with untouched(repository):
        assert "data" in refused(repository, snapshot["id"], limit=100).message
    restore(str(repository), snapshot["id"])
    assert (repository / "data").read_text() == "small"


def test_what_the_snapshot_left_out_is_not_deleted(repository: Path) -> None:
    (repository / "data").write_text("x" * 200)
    snapshot = create(str(repository), limit=100)
    (repository / "data").write_text("small now")
    (repository / "new").write_text("x")
    assert restore(str(repository), snapshot["id"])["deleted"] == ["new"]
    assert (repository / "data").read_text() == "small now"


def test_submodules_are_left_alone(
    repository: Path, tmp_path: Path, git: Git, untouched: Untouched
) -> None:
    plain = create(str(repository))
    (repository / "sub").write_text("a file")
    file = create(str(repository))
    (repository / "sub").unlink()
    (repository / "sub").mkdir()
    (repository / "sub" / "another").write_text("in a folder")
    folder = create(str(repository))
    (repository / "sub" / "another").unlink()
    (repository / "sub").rmdir()
    submodule(repository, tmp_path, git)
    snapshot = create(str(repository))
    git("commit", "--quiet", "--allow-empty", "--message", "moved", at=repository / "sub")
    (repository / "sub" / "file").write_text("dirty")
    (repository / "README.md").write_text("changed")

    done = restore(str(repository), snapshot["id"])
    assert (done["written"], done["submodules"]) == (["README.md"], ["sub"])
    assert (repository / "sub" / "file").read_text() == "dirty"

    done = restore(str(repository), plain["id"])
    assert done["submodules"] == ["sub"]
    assert (repository / "sub" / "file").read_text() == "dirty"

    with untouched(repository):
        assert "sub" in refused(repository, file["id"]).message
        assert "sub" in refused(repository, folder["id"]).message


def test_a_change_in_the_last_instant_is_not_lost(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the snapshot of the present and the writing, somebody saves a file."""
    snapshot = create(str(repository))
    (repository / "README.md").write_text("second")
    (repository / "other").write_text("second")
    record = restoring.record  # type: ignore[attr-defined]

    def late(shadow: Shadow, *arguments: object, **options: object) -> object:
        made = record(shadow, *arguments, **options)  # type: ignore[arg-type]
        (repository / "README.md").write_text("saved just now")
        return made

    monkeypatch.setattr(restoring, "record", late)
    refused(repository, snapshot["id"])
    assert (repository / "README.md").read_text() == "saved just now"
    assert (repository / "other").exists()


def test_files_that_were_only_touched_are_no_obstacle(repository: Path) -> None:
    snapshot = create(str(repository))
    (repository / "README.md").write_text("second")
    create(str(repository))
    os.utime(repository / "README.md", (1, 1))
    assert restore(str(repository), snapshot["id"])["written"] == ["README.md"]


def test_into_another_worktree(repository: Path, tmp_path: Path, git: Git) -> None:
    other = tmp_path / "other"
    git("worktree", "add", "--quiet", str(other))
    (repository / "new").write_text("x")
    snapshot = create(str(repository))
    assert restore(str(other), snapshot["id"])["written"] == ["new"]
    assert (other / "new").read_text() == "x"


def test_before_the_first_commit(tmp_path: Path, git: Git, untouched: Untouched) -> None:
    root = tmp_path / "young"
    git("init", "--quiet", str(root))
    (root / "file").write_text("1")
    snapshot = create(str(root))
    (root / "file").write_text("2")
    with untouched(root, files=False):
        restore(str(root), snapshot["id"])
    assert (root / "file").read_text() == "1"


def test_after_the_restore_the_next_snapshot_is_right(rich: Path) -> None:
    snapshot = create(str(rich))
    wreck(rich)
    restore(str(rich), snapshot["id"])
    again = create(str(rich))
    assert (again["tree"], again["duplicate"]) == (snapshot["tree"], False)
    assert create(str(rich))["duplicate"]


def test_line_ends_are_the_users_choice(repository: Path, git: Git) -> None:
    git("config", "core.autocrlf", "true")
    (repository / "windows.txt").write_bytes(b"one\r\ntwo\r\n")
    snapshot = create(str(repository))
    (repository / "windows.txt").unlink()
    restore(str(repository), snapshot["id"])
    assert (repository / "windows.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_hooks_stay_silent(repository: Path) -> None:
    for name in ("post-checkout", "post-index-change"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch ran\n")
        hook.chmod(0o755)
    snapshot = create(str(repository))
    (repository / "README.md").write_text("2")
    restore(str(repository), snapshot["id"])
    assert not (repository / "ran").exists()


# Links and a work tree that changes meanwhile


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="swaps with renameat2")
def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere(
    repository: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = repository / "src"
    folder.mkdir()
    names = [f"{number}.txt" for number in range(500)]
    for name in names:
        (folder / name).write_text("work\n")
    snapshot = create(str(repository))
    real = os.open(folder, os.O_RDONLY)
    for name in names:
        os.unlink(name, dir_fd=real)
    # It begins when the first file is there.
    when = lambda: bool(os.listdir(real))  # noqa: E731
    with Swapper(folder, outside, tmp_path / "link", when) as swapper, suppress(HoldfastError):
        restore(str(repository), snapshot["id"], ["src"])
    assert swapper.swaps > 0
    assert os.listdir(real)
    os.close(real)
    assert os.listdir(outside) == []


def test_a_file_that_appears_in_the_last_instant_stays(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "new").write_text("in the snapshot")
    (repository / "other").write_text("in the snapshot")
    snapshot = create(str(repository))
    (repository / "new").unlink()
    (repository / "other").unlink()
    really = restoring.place_new  # type: ignore[attr-defined]

    def late(one: TreeFile, other: TreeFile) -> None:
        if other.path == "new":
            (repository / "new").write_text("saved just now")
        really(one, other)

    monkeypatch.setattr(restoring, "place_new", late)
    assert "1 file of 2 could not be restored: new (it appeared just now)" in str(
        refused(repository, snapshot["id"]).message
    )
    assert (repository / "new").read_text() == "saved just now"
    assert (repository / "other").read_text() == "in the snapshot"
    assert not list(repository.glob(".holdfast-*"))
