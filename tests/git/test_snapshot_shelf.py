"""Looking at snapshots, and letting old ones go."""

from __future__ import annotations

from pathlib import Path

from holdfast.git.snapshot import create, list_snapshots, prune, show
from tests.conftest import Git
from tests.git.conftest import Untouched, text_of


def test_show_against_its_parent_and_the_present(repository: Path, untouched: Untouched) -> None:
    (repository / "README.md").write_text("changed")
    (repository / 'a "new"\nfile').write_text("x")
    snapshot = create(str(repository))
    (repository / "later").write_text("x")
    (repository / 'a "new"\nfile').unlink()
    with untouched(repository):
        shown = show(str(repository), snapshot["id"][:6])
    assert shown["snapshot"] == snapshot
    assert shown["changes"] == [
        {"status": "M", "path": "README.md"},
        {"status": "A", "path": 'a "new"\nfile'},
    ]
    assert shown["present"] == [
        {"status": "D", "path": 'a "new"\nfile'},
        {"status": "A", "path": "later"},
    ]
    assert len(list_snapshots(str(repository))) == 1


def test_prune_keeps_the_newest_of_each_worktree(
    repository: Path, tmp_path: Path, git: Git, untouched: Untouched
) -> None:
    other = tmp_path / "other"
    git("worktree", "add", "--quiet", str(other))
    ids = []
    for number in range(4):
        (repository / "file").write_text(f"{number}")
        # The clock steps back each time: the row counts, not the time.
        ids.append(create(str(repository), now=1_794_770_490_042 - number)["id"])
    there = create(str(other))["id"]

    with untouched(repository):
        assert set(prune(str(repository), 2)) == set(ids[:2])
        assert [one["id"] for one in list_snapshots(str(repository))] == [ids[3], ids[2]]
        assert prune(str(repository), 0) == [ids[2]]
        assert prune(str(repository), 0) == []
    assert [one["id"] for one in list_snapshots(str(other))] == [there]


def test_after_prune_and_gc_the_next_one_works(repository: Path, git: Git) -> None:
    (repository / "folder").mkdir()
    (repository / "folder" / "file").write_text("never committed")
    create(str(repository))
    for snapshot in list_snapshots(str(repository)):
        git("update-ref", "-d", f"refs/holdfast/snapshots/main/{snapshot['id']}")
    git("gc", "--quiet", "--prune=now")
    (repository / "other").write_text("x")
    snapshot = create(str(repository))
    assert text_of(repository, snapshot["commit"], "folder/file") == b"never committed"
