"""Snapshots: the whole work tree is held, and nothing of the user's moves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.git import run
from holdfast.git.repository import GitError
from holdfast.git.snapshot import create, find, list_snapshots, show
from holdfast.kernel.errors import NotFound, Usage
from tests.conftest import Git
from tests.git.conftest import Untouched, answer, merge, text_of, tree_of
from tests.git.test_status import BYTES, NAMES, submodule


def paths(root: Path, commit: str) -> set[str]:
    return set(tree_of(root, commit))


def test_tracked_untracked_and_staged_but_not_ignored(
    repository: Path, git: Git, untouched: Untouched
) -> None:
    (repository / ".gitignore").write_text("*.log\nbuild/\n")
    (repository / "build").mkdir()
    for name in ("noise.log", "build/out", "new", "staged", "README.md"):
        (repository / name).write_text(f"{name} now")
    git("add", "staged")
    (repository / "staged").write_text("later")

    with untouched(repository):
        snapshot = create(str(repository), session="s 1\nx", now=1_794_770_490_042)

    assert paths(repository, snapshot["commit"]) == {"README.md", ".gitignore", "new", "staged"}
    assert text_of(repository, snapshot["commit"], "staged") == b"later"
    assert text_of(repository, snapshot["commit"], "README.md") == b"README.md now"
    assert snapshot["at"] == "2026-11-15T19:21:30.042Z"
    assert (snapshot["branch"], snapshot["worktree"]) == ("main", "main")
    assert snapshot["parent"] == git("rev-parse", "HEAD").strip()
    assert not snapshot["duplicate"]
    assert list_snapshots(str(repository)) == [snapshot]
    ref = f"refs/holdfast/snapshots/main/{snapshot['id']}"
    assert git("rev-parse", ref).strip() == snapshot["commit"]
    assert git("rev-parse", f"{ref}^").strip() == snapshot["parent"]
    assert git("log", "-1", "--format=%an %ae %cn %ct", ref).strip() == (
        "holdfast snapshot@holdfast.invalid holdfast 1794770490"
    )
    assert "Holdfast-Session: s 1 x\n" in git("log", "-1", "--format=%B", ref)


def test_changes_from_snapshot_to_snapshot(repository: Path, untouched: Untouched) -> None:
    (repository / "one").write_text("1")
    first = create(str(repository))
    (repository / "one").unlink()
    (repository / "two").write_text("2")
    (repository / "README.md").unlink()
    with untouched(repository):
        second = create(str(repository))

    assert paths(repository, first["commit"]) == {"README.md", "one"}
    assert paths(repository, second["commit"]) == {"two"}
    assert (second["number"], second["changed"]) == (2, 3)
    assert [one["id"] for one in list_snapshots(str(repository))] == [second["id"], first["id"]]


def test_an_unchanged_tree_is_the_same_snapshot(repository: Path, git: Git) -> None:
    first = create(str(repository))
    os.utime(repository / "README.md", (1, 1))
    again = create(str(repository))
    assert again == {**first, "duplicate": True}
    assert len(list_snapshots(str(repository))) == 1

    # Removed by hand: what we remember of it does not count.
    git("update-ref", "-d", f"refs/holdfast/snapshots/main/{first['id']}")
    third = create(str(repository))
    assert not third["duplicate"]
    assert list_snapshots(str(repository)) == [third]


def test_few_processes(repository: Path, heard: list[list[str]]) -> None:
    create(str(repository))
    (repository / "README.md").write_text("changed")
    heard.clear()
    create(str(repository))
    verbs = [run.verb(command[1:]) for command in heard]
    assert verbs == ["ls-files", "update-index", "write-tree", "hash-object", "update-ref"]


def test_every_kind_of_name(repository: Path, untouched: Untouched) -> None:
    names = {*NAMES, os.fsdecode(BYTES), "ends ", "*", ":(glob)x"}
    for name in names:
        (repository / name).write_text("new")
    with untouched(repository):
        snapshot = create(str(repository))
    assert paths(repository, snapshot["commit"]) == {"README.md", *names}


def test_links_programs_and_empty_files(repository: Path, untouched: Untouched) -> None:
    (repository / "link").symlink_to("nowhere")
    (repository / "folder link").symlink_to(repository.parent)
    (repository / "program").write_text("#!/bin/sh\n")
    (repository / "program").chmod(0o755)
    (repository / "empty").touch()
    with untouched(repository):
        snapshot = create(str(repository))
    modes = {name: facts[:6] for name, facts in tree_of(repository, snapshot["commit"]).items()}
    assert modes == {
        "README.md": "100644",
        "link": "120000",
        "folder link": "120000",
        "program": "100755",
        "empty": "100644",
    }
    (repository / "program").chmod(0o644)
    again = create(str(repository))
    assert tree_of(repository, again["commit"])["program"].startswith("100644")


def test_files_folders_and_links_change_places(repository: Path, git: Git) -> None:
    (repository / "file").write_text("x")
    for folder in ("folder", "linked"):
        (repository / folder).mkdir()
        (repository / folder / "inner").write_text("x")
    git("add", ".")
    git("commit", "--quiet", "--message", "before")
    (repository / "elsewhere").mkdir()
    (repository / "elsewhere" / "inner").write_text("other")
    create(str(repository))

    (repository / "file").unlink()
    (repository / "file").mkdir()
    (repository / "file" / "inner").write_text("y")
    (repository / "folder" / "inner").unlink()
    (repository / "folder").rmdir()
    (repository / "folder").write_text("y")
    (repository / "linked" / "inner").unlink()
    (repository / "linked").rmdir()
    (repository / "linked").symlink_to("elsewhere")
    snapshot = create(str(repository))
    expected = {"README.md", "file/inner", "folder", "linked", "elsewhere/inner"}
    assert paths(repository, snapshot["commit"]) == expected
    assert snapshot["skipped"] == []

    (repository / "linked").unlink()
    (repository / "linked").mkdir()
    (repository / "linked" / "inner").write_text("back")
    again = create(str(repository))
    assert "linked/inner" in paths(repository, again["commit"])


def test_a_linked_worktree_has_its_own_row(
    repository: Path, tmp_path: Path, git: Git, untouched: Untouched
) -> None:
    other = tmp_path / "other tree"
    git("worktree", "add", "--quiet", "-b", "side", str(other))
    (other / "there").write_text("x")
    here = create(str(repository))
    with untouched(other), untouched(repository):
        there = create(str(other))

    assert there["worktree"] == "linked-other-tree" or there["worktree"].startswith("linked-")
    assert there["branch"] == "side"
    assert paths(other, there["commit"]) == {"README.md", "there"}
    assert list_snapshots(str(repository)) == [here]
    assert {one["id"] for one in list_snapshots(str(other), everywhere=True)} == {
        here["id"],
        there["id"],
    }
    assert find(str(repository), there["id"][:8]) == there


def test_a_detached_head(repository: Path, git: Git, untouched: Untouched) -> None:
    git("checkout", "--quiet", "--detach")
    (repository / "new").write_text("x")
    with untouched(repository):
        snapshot = create(str(repository))
    assert snapshot["branch"] is None
    assert snapshot["parent"] == git("rev-parse", "HEAD").strip()


def test_a_repository_without_a_commit(tmp_path: Path, git: Git, untouched: Untouched) -> None:
    root = tmp_path / "young"
    git("init", "--quiet", str(root))
    empty = create(str(root))
    assert tree_of(root, empty["commit"]) == {}
    (root / "new").write_text("x")
    with untouched(root):
        snapshot = create(str(root))
    assert (snapshot["parent"], snapshot["branch"]) == (None, "main")
    assert paths(root, snapshot["commit"]) == {"new"}
    assert not (root / ".git" / "index").exists()
    assert show(str(root), snapshot["id"])["changes"] == [{"status": "A", "path": "new"}]


def test_submodules_are_held_as_commits_and_named(
    repository: Path, tmp_path: Path, git: Git, untouched: Untouched
) -> None:
    assert create(str(repository))["submodules"] == []
    submodule(repository, tmp_path, git)
    (repository / "sub" / "file").write_text("dirty")
    with untouched(repository):
        dirty = create(str(repository))
    assert dirty["submodules"] == ["sub"]

    git("commit", "--quiet", "--all", "--message", "inner", at=repository / "sub")
    moved = create(str(repository))
    inner = git("rev-parse", "HEAD", at=repository / "sub").strip()
    assert tree_of(repository, moved["commit"])["sub"] == f"160000 commit {inner}"


def test_repositories_inside_that_are_no_submodules(repository: Path, git: Git) -> None:
    for name in ("young", "old"):
        git("init", "--quiet", str(repository / name))
    git("commit", "--quiet", "--allow-empty", "--message", "x", at=repository / "old")
    snapshot = create(str(repository))
    assert paths(repository, snapshot["commit"]) == {"README.md", "old"}
    assert snapshot["skipped"] == [{"path": "young", "reason": "a repository without a commit"}]


def test_a_file_that_became_a_repository(repository: Path, git: Git) -> None:
    (repository / "place").write_text("a file")
    create(str(repository))
    (repository / "place").unlink()
    git("init", "--quiet", "place")
    git("commit", "--quiet", "--allow-empty", "--message", "x", at=repository / "place")
    snapshot = create(str(repository))
    assert tree_of(repository, snapshot["commit"])["place"].startswith("160000")
    assert create(str(repository))["duplicate"]


def test_a_folder_that_became_a_repository(repository: Path, git: Git) -> None:
    """Files that the user tracks in it are files; if there are none, it is one thing."""
    for folder in ("tracked", "new"):
        (repository / folder).mkdir()
        (repository / folder / "file").write_text("1")
    git("add", "tracked")
    create(str(repository))
    for folder in ("tracked", "new"):
        git("init", "--quiet", folder)
        git("commit", "--quiet", "--allow-empty", "--message", "x", at=repository / folder)
        (repository / folder / "file").write_text("2")
    for text in ("3", "4"):
        (repository / "tracked" / "file").write_text(text)
        snapshot = create(str(repository))
        assert paths(repository, snapshot["commit"]) == {"README.md", "tracked/file", "new"}
        assert text_of(repository, snapshot["commit"], "tracked/file") == text.encode()


def test_filters_of_the_user_run_as_they_do_for_add(
    repository: Path, users_filter: Callable[..., None], untouched: Untouched
) -> None:
    """As with LFS: what is stored is what the clean filter gives; no smudge is ever run."""
    users_filter("pointer", clean="sed s/large/pointer/", smudge="touch smudged && cat")
    (repository / ".gitattributes").write_text("*.bin filter=pointer\n")
    (repository / "a.bin").write_text("large thing\n")
    with untouched(repository):
        snapshot = create(str(repository))
    assert text_of(repository, snapshot["commit"], "a.bin") == b"pointer thing\n"
    assert not (repository / "smudged").exists()


@pytest.fixture
def users_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Defines a filter in the user's own settings of git."""

    def define(name: str, **programs: str) -> None:
        settings = tmp_path / "gitconfig"
        lines = [f"\t{key} = {value}" for key, value in programs.items()]
        settings.write_text("\n".join([f'[filter "{name}"]', *lines, "\trequired = true", ""]))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))

    return define


def test_a_filter_that_fails_costs_one_file(
    repository: Path, users_filter: Callable[..., None], git: Git
) -> None:
    (repository / "b.bin").write_text("from before the filter")
    git("add", ".")
    git("commit", "--quiet", "--message", "before")
    users_filter("broken", clean="false")
    (repository / ".gitattributes").write_text("*.bin filter=broken\n")
    for name in ("a", "b.bin", "c", "d.bin", "e"):
        (repository / name).write_text(name)
    snapshot = create(str(repository))
    assert paths(repository, snapshot["commit"]) == {"README.md", ".gitattributes", "a", "c", "e"}
    assert [skipped["path"] for skipped in snapshot["skipped"]] == ["b.bin", "d.bin"]
    assert "filter" in snapshot["skipped"][0]["reason"]
    assert list_snapshots(str(repository)) == [snapshot]


def test_large_files_are_left_out_and_named(repository: Path, git: Git) -> None:
    (repository / "tracked").write_text("small")
    git("add", ".")
    git("commit", "--quiet", "--message", "more")
    (repository / "tracked").write_text("x" * 101)
    (repository / "new\nlarge").write_text("x" * 101)
    (repository / "fits").write_text("x" * 100)

    snapshot = create(str(repository), limit=100)

    assert paths(repository, snapshot["commit"]) == {"README.md", "fits"}
    assert [one["path"] for one in snapshot["skipped"]] == ["new\nlarge", "tracked"]
    assert "100 bytes" in snapshot["skipped"][0]["reason"]
    assert list_snapshots(str(repository)) == [snapshot]
    assert create(str(repository), limit=100)["duplicate"]
    (repository / "another").write_text("x" * 101)
    # The same tree, but it does not hold the same.
    assert not create(str(repository), limit=100)["duplicate"]
    (repository / "another").unlink()
    (repository / "tracked").write_text("small again")
    assert "tracked" in paths(repository, create(str(repository), limit=100)["commit"])


def test_a_file_that_became_a_pipe(repository: Path) -> None:
    (repository / "README.md").unlink()
    os.mkfifo(repository / "README.md")
    snapshot = create(str(repository))
    assert snapshot["skipped"] == [{"path": "README.md", "reason": "not a regular file"}]


def test_what_is_tracked_although_ignored(repository: Path, git: Git) -> None:
    (repository / ".gitignore").write_text("*.log\n")
    for name in ("kept.log", "later.log", "never.log"):
        (repository / name).write_text("1")
    git("add", "--force", "kept.log", ".gitignore")
    assert "kept.log" in paths(repository, create(str(repository))["commit"])

    git("add", "--force", "later.log")
    second = paths(repository, create(str(repository))["commit"])
    assert second == {"README.md", ".gitignore", "kept.log", "later.log"}

    (repository / "kept.log").rename(repository / "away.log")
    assert "kept.log" not in paths(repository, create(str(repository))["commit"])
    (repository / "away.log").rename(repository / "kept.log")
    assert "kept.log" in paths(repository, create(str(repository))["commit"])

    git("rm", "--quiet", "--cached", "kept.log")
    assert paths(repository, create(str(repository))["commit"]) == second - {"kept.log"}


def test_what_becomes_ignored_leaves_the_next_snapshot(repository: Path) -> None:
    (repository / "modules").mkdir()
    (repository / "modules" / "one").write_text("x")
    (repository / "other").write_text("x")
    assert "modules/one" in paths(repository, create(str(repository))["commit"])
    (repository / ".gitignore").write_text("modules/\n")
    assert "modules/one" not in paths(repository, create(str(repository))["commit"])
    (repository / ".git" / "info" / "exclude").write_text("other\n")
    assert paths(repository, create(str(repository))["commit"]) == {"README.md", ".gitignore"}


def test_intent_to_add_and_flags_that_look_away(
    repository: Path, git: Git, untouched: Untouched
) -> None:
    for name in ("assumed", "skipped"):
        (repository / name).write_text("1")
    git("add", ".")
    git("commit", "--quiet", "--message", "more")
    git("update-index", "--assume-unchanged", "assumed")
    git("update-index", "--skip-worktree", "skipped")
    for name in ("assumed", "skipped", "intended"):
        (repository / name).write_text("2")
    (repository / "intended empty").touch()
    git("add", "--intent-to-add", "intended", "intended empty")
    with untouched(repository):
        snapshot = create(str(repository))
    for name in ("assumed", "skipped", "intended"):
        assert text_of(repository, snapshot["commit"], name) == b"2"
    assert "intended empty" in paths(repository, snapshot["commit"])


def test_a_sparse_checkout(repository: Path, git: Git, untouched: Untouched) -> None:
    for folder in ("in", "out"):
        (repository / folder).mkdir()
        (repository / folder / "file").write_text("1")
    git("add", ".")
    git("commit", "--quiet", "--message", "more")
    git("sparse-checkout", "set", "in")
    (repository / "in" / "file").write_text("2")
    assert not (repository / "out").exists()
    with untouched(repository):
        snapshot = create(str(repository))
    assert text_of(repository, snapshot["commit"], "in/file") == b"2"
    assert text_of(repository, snapshot["commit"], "out/file") == b"1"

    git("sparse-checkout", "disable")
    (repository / "out" / "file").write_text("3")
    assert text_of(repository, create(str(repository))["commit"], "out/file") == b"3"


def test_a_conflict_is_held_as_it_stands(repository: Path, git: Git, untouched: Untouched) -> None:
    (repository / "both").write_text("base\n")
    (repository / "gone").write_text("base\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "base")
    git("switch", "--quiet", "--create", "side")
    (repository / "both").write_text("side\n")
    git("rm", "--quiet", "gone")
    git("commit", "--quiet", "--all", "--message", "side")
    git("switch", "--quiet", "main")
    (repository / "both").write_text("main\n")
    (repository / "gone").write_text("main\n")
    git("commit", "--quiet", "--all", "--message", "main")
    merge(repository, "side")

    with untouched(repository):
        snapshot = create(str(repository))

    assert b"<<<<<<<" in text_of(repository, snapshot["commit"], "both")
    assert text_of(repository, snapshot["commit"], "gone") == b"main\n"


def test_the_instant_after_the_user_added(repository: Path, git: Git) -> None:
    """A file changed in the same tick and to the same size as its entry in the index."""
    git("config", "core.trustctime", "false")
    instant = (1_700_000_000, 1_700_000_000)
    (repository / "quick").write_text("one")
    os.utime(repository / "quick", instant)
    git("add", "quick")
    (repository / "quick").write_text("two")
    os.utime(repository / "quick", instant)
    os.utime(repository / ".git" / "index", instant)
    snapshot = create(str(repository))
    assert text_of(repository, snapshot["commit"], "quick") == b"two"


def test_a_conflict_of_which_one_side_is_left(repository: Path) -> None:
    """As after two renames of one file: nothing differs, and yet it is not merged."""
    object = answer(repository, "rev-parse", "HEAD:README.md").decode().strip()
    line = f"0 {'0' * 40}\tREADME.md\n100644 {object} 2\tREADME.md\n"
    command = ["git", "update-index", "--index-info"]
    subprocess.run(command, cwd=repository, check=True, input=line, text=True)
    assert answer(repository, "status", "--porcelain") == b"AU README.md\n"
    assert paths(repository, create(str(repository))["commit"]) == {"README.md"}


def test_hooks_and_reflogs_of_the_user_stay_silent(repository: Path, git: Git) -> None:
    git("config", "core.logAllRefUpdates", "always")
    for name in ("reference-transaction", "post-index-change", "pre-commit", "post-checkout"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch ran\n")
        hook.chmod(0o755)
    (repository / "new").write_text("x")
    create(str(repository))
    assert not (repository / "ran").exists()
    assert not (repository / ".git" / "logs" / "refs" / "holdfast").exists()


def test_from_a_folder_inside_the_whole_tree_is_taken(repository: Path) -> None:
    (repository / "inner").mkdir()
    (repository / "inner" / "file").write_text("x")
    (repository / "outer").write_text("x")
    snapshot = create(str(repository / "inner"))
    assert paths(repository, snapshot["commit"]) == {"README.md", "inner/file", "outer"}


def test_split_index_and_other_settings(repository: Path, git: Git, untouched: Untouched) -> None:
    git("config", "core.splitIndex", "true")
    git("config", "core.untrackedCache", "true")
    git("update-index", "--split-index", "--untracked-cache")
    (repository / "new").write_text("x")
    with untouched(repository):
        first = create(str(repository))
        assert paths(repository, first["commit"]) == {"README.md", "new"}
    (repository / "newer").write_text("x")
    assert "newer" in paths(repository, create(str(repository))["commit"])


class TestFind:
    def test_by_the_beginning_of_an_id(self, repository: Path) -> None:
        one = create(str(repository), id="aaaa1111")
        (repository / "x").write_text("x")
        create(str(repository), id="aaaa2222")
        assert find(str(repository), "aaaa1") == one
        assert find(str(repository), "aaaa1111") == one
        with pytest.raises(Usage) as caught:
            find(str(repository), "aaaa")
        assert caught.value.kind == "ambiguous"
        for prefix in ("b", ""):
            with pytest.raises(NotFound):
                find(str(repository), prefix)

    def test_an_id_that_would_be_a_path(self, repository: Path) -> None:
        with pytest.raises(Usage):
            create(str(repository), id="../heads/main")

    def test_no_snapshot_yet(self, repository: Path) -> None:
        assert list_snapshots(str(repository)) == []

    def test_no_repository(self, tmp_path: Path) -> None:
        with pytest.raises(GitError):
            create(str(tmp_path))
