"""What is dirty, with every kind of name, and the digest that recognises it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.git.status import digest_of, read_status
from tests.conftest import Git
from tests.git.conftest import Untouched

if TYPE_CHECKING:
    from holdfast.git.status import StatusChange

NAMES = ["with space", 'with "quotes"', "with\nnewline", "with\ttab", "grün", "-dash", "->arrow"]
BYTES = b"latin-\xfc"


def states(root: Path, **options: object) -> dict[str, str]:
    changes = read_status(str(root), **options)  # type: ignore[arg-type]
    return {change["path"]: change["index"] + change["worktree"] for change in changes}


def digest(root: Path) -> str:
    return digest_of(str(root), read_status(str(root)))


def test_a_clean_tree(repository: Path) -> None:
    assert read_status(str(repository)) == []


@pytest.mark.clause("CCC-29")
def test_the_words_of_the_command(repository: Path, heard: list[list[str]]) -> None:
    read_status(str(repository))
    assert heard[0][0] == "git"
    assert heard[0][-4:-1] == ["status", "--porcelain", "-z"]


def test_every_kind_of_name(repository: Path, git: Git) -> None:
    for name in NAMES:
        (repository / name).write_text("new")
    (Path(os.fsdecode(os.fsencode(repository) + b"/" + BYTES))).write_text("new")

    assert states(repository) == dict.fromkeys([*NAMES, os.fsdecode(BYTES)], "??")

    git("add", "--all")
    assert set(states(repository).values()) == {"A "}


def test_renames_have_their_origin(repository: Path, git: Git) -> None:
    git("mv", "README.md", "READ ME\n.md")
    (repository / "another").write_text("x")

    assert read_status(str(repository)) == [
        {"path": "READ ME\n.md", "index": "R", "worktree": " ", "origin": "README.md"},
        {"path": "another", "index": "?", "worktree": "?", "origin": ""},
    ]


def test_staged_unstaged_deleted_and_untracked(repository: Path, git: Git) -> None:
    for name in ("staged", "both", "gone", "removed"):
        (repository / name).write_text("one")
    git("add", ".")
    git("commit", "--quiet", "--message", "more")
    (repository / "staged").write_text("two")
    (repository / "both").write_text("two")
    git("add", "staged", "both")
    (repository / "both").write_text("three")
    (repository / "gone").unlink()
    git("rm", "--quiet", "removed")
    (repository / "folder").mkdir()
    (repository / "folder" / "new").write_text("x")

    assert states(repository) == {
        "staged": "M ",
        "both": "MM",
        "gone": " D",
        "removed": "D ",
        "folder/new": "??",
    }


@pytest.mark.clause("AMB-CCC-10")
def test_excluded_files_are_not_dirty(repository: Path) -> None:
    (repository / ".ccc-state.json").write_text("{}")
    (repository / "agent_comms").mkdir()
    (repository / "agent_comms" / "one.md").write_text("x")

    assert states(repository, exclude=[".ccc-state.json", "agent_comms"]) == {}
    assert states(repository, exclude=[".ccc-state"]) != {}


def test_untracked_files_show_whatever_the_user_set(repository: Path, git: Git) -> None:
    git("config", "status.showUntrackedFiles", "no")
    (repository / "new").write_text("x")
    assert states(repository) == {"new": "??"}


def test_seen_from_a_folder_inside(repository: Path) -> None:
    (repository / "inner").mkdir()
    (repository / "inner" / "new").write_text("x")
    (repository / "outer").write_text("x")

    assert states(repository / "inner") == {"new": "??", "../outer": "??"}
    assert states(repository / "inner", exclude=["new"]) == {"../outer": "??"}


def test_a_submodule_on_another_commit(repository: Path, tmp_path: Path, git: Git) -> None:
    submodule(repository, tmp_path, git)
    (repository / "sub" / "file").write_text("changed")
    assert states(repository) == {}

    git("commit", "--quiet", "--all", "--message", "two", at=repository / "sub")
    assert states(repository) == {"sub": " M"}
    first = digest(repository)
    git("commit", "--quiet", "--allow-empty", "--message", "three", at=repository / "sub")
    assert digest(repository) != first


def test_reading_leaves_no_trace(repository: Path, untouched: Untouched) -> None:
    # A refresh of the index would be due here.
    os.utime(repository / "README.md", (1, 1))
    with untouched(repository):
        digest(repository)


class TestDigest:
    def test_the_same_for_the_same(self, repository: Path) -> None:
        (repository / "README.md").write_text("changed")
        (repository / "new").write_text("x")
        first = digest(repository)
        os.utime(repository / "new", (1, 1))
        assert digest(repository) == first

    def test_contents_count(self, repository: Path) -> None:
        seen = {digest(repository)}
        for text in ("changed", "chanGed"):
            (repository / "README.md").write_text(text)
            seen.add(digest(repository))
        (repository / "README.md").chmod(0o755)
        seen.add(digest(repository))
        (repository / "README.md").unlink()
        seen.add(digest(repository))
        (repository / "README.md").symlink_to("elsewhere")
        seen.add(digest(repository))
        assert len(seen) == 6

    def test_files_in_untracked_folders_count(self, repository: Path) -> None:
        (repository / "folder").mkdir()
        (repository / "folder" / "one").write_text("x")
        first = digest(repository)
        (repository / "folder" / "one").write_text("y")
        assert digest(repository) != first

    def test_what_is_staged_counts(self, repository: Path, git: Git) -> None:
        (repository / "README.md").write_text("changed")
        first = digest(repository)
        git("add", "README.md")
        assert digest(repository) != first

    def test_large_files_are_known_by_size_and_time(self, repository: Path) -> None:
        large = repository / "large"
        large.write_bytes(b"a" * 1_000_001)
        os.utime(large, (5, 5))
        first = digest(repository)
        large.write_bytes(b"b" * 1_000_001)
        os.utime(large, (5, 5))
        assert digest(repository) == first
        os.utime(large, (6, 6))
        assert digest(repository) != first

    def test_order_does_not_count(self, repository: Path) -> None:
        changes: list[StatusChange] = [
            {"path": name, "index": "?", "worktree": "?", "origin": ""} for name in "ab"
        ]
        assert digest_of(str(repository), changes) == digest_of(str(repository), changes[::-1])


def submodule(repository: Path, tmp_path: Path, git: Git) -> Path:
    """A submodule `sub` with one file, committed."""
    source = tmp_path / "source"
    git("init", "--quiet", str(source))
    (source / "file").write_text("one")
    git("add", ".", at=source)
    git("commit", "--quiet", "--message", "one", at=source)
    git("submodule", "--quiet", "add", str(source), "sub", at=repository)
    git("commit", "--quiet", "--message", "submodule", at=repository)
    return source
