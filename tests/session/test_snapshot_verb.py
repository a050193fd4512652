"""`holdfast snapshot` through the command line."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Git
from tests.session import world
from tests.session.world import WORK, Holdfast

holdfast = world.holdfast


def test_create_list_show_restore(repository: Path, holdfast: Holdfast, git: Git) -> None:
    Path("README.md").write_text("Changed.\n")
    Path("new file.txt").write_text("Untracked.\n")
    before = (git("status", "--porcelain"), git("rev-parse", "HEAD"), git("stash", "list"))
    made = holdfast("snapshot", "create", "--json")
    assert made.code == 0
    id = made.data["id"]
    assert (git("status", "--porcelain"), git("rev-parse", "HEAD"), git("stash", "list")) == before
    again = holdfast("snapshot", "create")
    assert again.out == f"Nothing changed since {id[:12]}\n"
    (listed,) = holdfast("snapshot", "list", "--json").data["snapshots"]
    assert listed["id"] == id
    assert id[:12] in holdfast("snapshot", "list").out
    shown = holdfast("snapshot", "show", id[:12])
    assert "README.md" in shown.out
    assert "new file.txt" in shown.out
    assert "nothing changed" in shown.out

    Path("README.md").write_text("Changed again.\n")
    Path("new file.txt").unlink()
    Path("later.txt").write_text("Made after the snapshot.\n")
    tried = holdfast("snapshot", "restore", id[:12], "--dry-run", "--json")
    assert sorted(tried.data["written"]) == ["README.md", "new file.txt"]
    assert tried.data["deleted"] == ["later.txt"]
    assert Path("README.md").read_text() == "Changed again.\n"
    assert Path("later.txt").exists()

    done = holdfast("snapshot", "restore", id[:12], "--json")
    assert done.code == 0
    assert Path("README.md").read_text() == "Changed.\n"
    assert Path("new file.txt").read_text() == "Untracked.\n"
    assert not Path("later.txt").exists()
    assert (git("status", "--porcelain"), git("rev-parse", "HEAD"), git("stash", "list")) == before

    holdfast("snapshot", "restore", done.data["before"])
    assert Path("README.md").read_text() == "Changed again.\n"
    assert Path("later.txt").read_text() == "Made after the snapshot.\n"


def test_single_paths(repository: Path, holdfast: Holdfast) -> None:
    for name in ("one.txt", "two.txt"):
        Path(name).write_text("before\n")
    id = holdfast("snapshot", "create", "--json").data["id"]
    for name in ("one.txt", "two.txt"):
        Path(name).write_text("after\n")
    answer = holdfast("snapshot", "restore", id, "one.txt")
    assert "Changed 1 path." in answer.out
    assert Path("one.txt").read_text() == "before\n"
    assert Path("two.txt").read_text() == "after\n"


def test_every_manual_checkpoint_takes_one_and_the_automated_none(
    repository: Path, holdfast: Holdfast
) -> None:
    Path("new.txt").write_text("Untracked.\n")
    answer = holdfast("checkpoint", *WORK, "--session", "first", "--json")
    (listed,) = holdfast("snapshot", "list", "--json").data["snapshots"]
    assert listed["id"] == answer.data["snapshot"]
    assert listed["session"] == "first"
    Path("new.txt").write_text("Changed.\n")
    assert holdfast("checkpoint", "--auto", "--json").data["snapshot"] == ""
    assert len(holdfast("snapshot", "list", "--json").data["snapshots"]) == 1


def test_nothing_yet_an_unknown_id_and_no_repository(
    repository: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    assert holdfast("snapshot", "list").out == "There is no snapshot yet.\n"
    for words in (("show", "abcdef"), ("restore", "abcdef")):
        answer = holdfast("snapshot", *words)
        assert answer.code not in (0, 70)
        assert "abcdef" in answer.err
    answer = holdfast("snapshot", "create", "-C", str(tmp_path))
    assert answer.code not in (0, 70)


def test_a_file_that_is_too_large_is_left_out_and_named(
    repository: Path, holdfast: Holdfast
) -> None:
    Path("holdfast.toml").write_text("[snapshot]\nlargest_mb = 1\n")
    Path("large.bin").write_bytes(b"x" * 1_100_000)
    answer = holdfast("snapshot", "create")
    assert answer.code == 0
    assert "warning: large.bin was left out" in answer.err
