"""HEAD from the files alone, in every shape a repository has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.git.repository import GitError, read_head
from tests.conftest import Git
from tests.hooks.loaded import loaded_by_script


def commit_of(git: Git, at: Path) -> str:
    return git("rev-parse", "HEAD", at=at).strip()


def test_a_branch(repository: Path, git: Git, heard: list[list[str]]) -> None:
    assert read_head(str(repository)) == {
        "commit": commit_of(git, repository),
        "branch": "main",
        "detached": False,
        "known": True,
    }
    assert heard == []


def test_from_a_folder_inside(repository: Path) -> None:
    (repository / "a" / "b").mkdir(parents=True)
    assert read_head(str(repository / "a" / "b")) == read_head(str(repository))


def test_a_branch_with_slashes_in_packed_refs(repository: Path, git: Git) -> None:
    git("switch", "--quiet", "--create", "feature/a-b")
    git("tag", "--annotate", "--message", "t", "v1")
    git("branch", "feature/a-b-longer", "HEAD")
    git("pack-refs", "--all")
    assert not (repository / ".git/refs/heads/feature/a-b").exists()

    head = read_head(str(repository))

    assert (head["branch"], head["commit"]) == ("feature/a-b", commit_of(git, repository))


def test_a_loose_ref_wins_over_the_packed_one(repository: Path, git: Git) -> None:
    git("pack-refs", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", "second")

    assert read_head(str(repository))["commit"] == commit_of(git, repository)


def test_detached(repository: Path, git: Git) -> None:
    git("checkout", "--quiet", "--detach")

    head = read_head(str(repository))

    assert head == {
        "commit": commit_of(git, repository),
        "branch": None,
        "detached": True,
        "known": True,
    }


def test_a_branch_without_a_commit(tmp_path: Path, git: Git) -> None:
    git("init", "--quiet", str(tmp_path))

    expected = {"commit": None, "branch": "main", "detached": False, "known": True}
    assert read_head(str(tmp_path)) == expected


def test_a_linked_worktree(repository: Path, tmp_path: Path, git: Git) -> None:
    other = tmp_path / "other"
    git("worktree", "add", "--quiet", "-b", "side", str(other))
    git("commit", "--quiet", "--allow-empty", "--message", "there", at=other)

    head = read_head(str(other))

    assert (head["branch"], head["commit"]) == ("side", commit_of(git, other))
    assert read_head(str(repository))["branch"] == "main"


def test_a_branch_that_names_another(repository: Path, git: Git) -> None:
    git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git("symbolic-ref", "HEAD", "refs/heads/alias")

    head = read_head(str(repository))

    assert (head["branch"], head["commit"]) == ("alias", commit_of(git, repository))


def test_a_circle_of_refs_ends(repository: Path) -> None:
    heads = repository / ".git/refs/heads"
    (heads / "one").write_text("ref: refs/heads/two\n")
    (heads / "two").write_text("ref: refs/heads/one\n")
    (repository / ".git/HEAD").write_text("ref: refs/heads/one\n")

    head = read_head(str(repository))

    assert (head["commit"], head["known"]) == (None, False)


@pytest.mark.parametrize("name", [".invalid", "main"])
def test_a_repository_with_reftables_is_unknown(repository: Path, name: str) -> None:
    (repository / ".git/reftable").mkdir()
    (repository / ".git/HEAD").write_text(f"ref: refs/heads/{name}\n")

    expected = {"commit": None, "branch": None, "detached": False, "known": False}
    assert read_head(str(repository)) == expected


@pytest.mark.parametrize("text", ["", "nonsense", "ref: ../../outside", "deadbeef"])
def test_a_broken_head_is_unknown(repository: Path, text: str) -> None:
    (repository / ".git/HEAD").write_text(text)
    head = read_head(str(repository))
    assert (head["commit"], head["known"]) == (None, False)


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        read_head(str(tmp_path))
    assert caught.value.kind == "not_a_repository"


@pytest.mark.clause("CCC-28")
def test_it_is_light_enough_for_a_hook(repository: Path) -> None:
    source = Path(read_head.__code__.co_filename).parents[2]
    script = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from holdfast.git.repository import read_head\n"
        f"read_head({str(repository)!r}); print(*sys.modules)"
    )
    loaded = loaded_by_script([sys.executable, "-I", "-S"], script)
    assert "holdfast.git.repository" in loaded
    assert not loaded & {"re", "json", "typing", "pathlib", "subprocess", "hashlib", "datetime"}
