"""Which workspace a folder belongs to, and where its journal is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holdfast.journal.chain import verify
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.workspace import discover, user_folder, worktrees
from holdfast.testing.journal.examples import drafts, write
from tests.conftest import Git


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    """A folder that is in no repository."""
    folder = Path(os.path.realpath(tmp_path)) / "plain" / "inner"
    folder.mkdir(parents=True)
    return folder


def found(folder: Path) -> tuple[str, str]:
    """Root and home."""
    workspace = discover(str(folder))
    return workspace.root, workspace.home


def test_a_repository_is_a_workspace_from_any_folder_in_it(repository: Path) -> None:
    inner = repository / "src" / "deep"
    inner.mkdir(parents=True)

    assert found(inner) == found(repository) == (str(repository), f"{repository}/.git/holdfast")


@pytest.mark.usefixtures("repository")
def test_the_current_folder_is_the_default() -> None:
    assert discover().root == os.getcwd()


def test_looking_makes_nothing(repository: Path) -> None:
    workspace = discover(str(repository))

    assert not workspace.exists()
    assert not os.path.exists(workspace.home)
    assert not os.path.exists(workspace.tool_folder)


@pytest.mark.parametrize("mark", ["holdfast.toml", ".holdfast/", "pyproject.toml"])
def test_a_mark_makes_a_workspace_without_git(nowhere: Path, mark: str) -> None:
    make_mark(nowhere.parent, mark)

    root, home = found(nowhere)
    assert root == str(nowhere.parent)
    assert os.path.dirname(home) == os.path.join(user_folder(), "projects")


@pytest.mark.parametrize("mark", ["holdfast.toml", ".holdfast/", "pyproject.toml"])
def test_a_mark_inside_a_repository_is_the_root_and_git_still_keeps_the_journal(
    repository: Path, mark: str
) -> None:
    part = repository / "part"
    (part / "inner").mkdir(parents=True)
    make_mark(part, mark)

    assert found(part / "inner") == (str(part), f"{repository}/.git/holdfast")


def make_mark(folder: Path, mark: str) -> None:
    if mark.endswith("/"):
        (folder / mark).mkdir()
    else:
        (folder / mark).write_text("[tool.holdfast]\n" if mark == "pyproject.toml" else "")


def test_a_pyproject_that_does_not_speak_of_us_is_no_mark(nowhere: Path) -> None:
    (nowhere / "pyproject.toml").write_text("[tool.ruff]\n")
    (nowhere.parent / "holdfast.toml").touch()

    assert discover(str(nowhere)).root == str(nowhere.parent)


def test_a_mark_above_a_repository_is_another_workspaces(repository: Path) -> None:
    (repository.parent / "holdfast.toml").touch()

    assert discover(str(repository)).root == str(repository)


def test_outside_of_everything_there_is_no_workspace(nowhere: Path) -> None:
    with pytest.raises(NotFound) as missing:
        discover(str(nowhere))

    assert missing.value.kind == "no_workspace"
    assert "git init" in missing.value.hint


def test_a_folder_that_is_not_there_is_in_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound):
        discover(str(tmp_path / "missing"))
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(NotFound, match="removed"):
        discover()


def test_a_link_to_a_workspace_leads_to_it(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)

    assert discover(str(tmp_path / "link")).root == str(repository)


def test_a_home_can_be_named(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))

    workspace = discover(str(repository))

    assert (workspace.root, workspace.home) == (str(repository), str(tmp_path / "home"))
    write(workspace.journal, "note:a")
    assert (tmp_path / "home" / "journal.db").exists()
    workspace.close()


def test_linked_worktrees_share_the_home_and_have_their_own_root(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    second = Path(os.path.realpath(tmp_path)) / "second"
    git("worktree", "add", "--quiet", "--detach", str(second), at=repository)

    assert found(second) == (str(second), f"{repository}/.git/holdfast")
    assert worktrees(discover(str(second))) == [str(second), str(repository)]
    assert worktrees(discover(str(repository))) == [str(repository), str(second)]


def test_a_worktree_that_was_deleted_is_not_listed(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "second"), at=repository)
    (tmp_path / "second" / ".git").unlink()

    assert worktrees(discover(str(repository))) == [str(repository)]


def test_worktrees_of_a_bare_repository_share_the_home(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    base = Path(os.path.realpath(tmp_path))
    bare = base / "bare.git"
    git("clone", "--quiet", "--bare", str(repository), str(bare))
    for name in ("one", "two"):
        git("worktree", "add", "--quiet", "--detach", str(base / name), at=bare)

    assert found(base / "one") == (str(base / "one"), f"{bare}/holdfast")
    assert found(base / "two") == (str(base / "two"), f"{bare}/holdfast")
    with pytest.raises(NotFound) as refused:
        discover(str(bare))
    assert "worktrees" in refused.value.hint


def test_a_submodule_is_a_workspace_of_its_own(repository: Path, git: Git, tmp_path: Path) -> None:
    library = tmp_path / "library"
    git("clone", "--quiet", str(repository), str(library))
    git("submodule", "--quiet", "add", str(library), "library", at=repository)

    assert found(repository / "library") == (
        f"{repository}/library",
        f"{repository}/.git/modules/library/holdfast",
    )


def test_a_git_file_that_points_nowhere_is_named(nowhere: Path) -> None:
    (nowhere / ".git").write_text("not a pointer\n")

    with pytest.raises(HoldfastError) as broken:
        discover(str(nowhere))

    assert broken.value.kind == "broken_git"
    assert f"{nowhere}/.git" in broken.value.message


def test_the_journal_is_for_its_owner_alone(repository: Path) -> None:
    workspace = discover(str(repository))
    write(workspace.journal, "note:a")

    assert stat.S_IMODE(os.stat(workspace.home).st_mode) == 0o700
    workspace.close()


def test_the_tool_folder_ignores_itself(repository: Path, git: Git) -> None:
    discover(str(repository)).prepare_tool_folder("inbox")

    assert (repository / ".holdfast" / "inbox").is_dir()
    assert git("status", "--porcelain", at=repository) == ""


@pytest.mark.parametrize(
    "command",
    [
        ["clean", "-ffdx"],
        ["stash", "--all"],
        ["gc", "--quiet", "--aggressive", "--prune=now"],
        ["reset", "--hard", "--quiet"],
        ["worktree", "prune"],
    ],
    ids=lambda command: str(command[0]),
)
def test_git_leaves_the_journal_alone(repository: Path, git: Git, command: list[str]) -> None:
    workspace = discover(str(repository))
    written = write(workspace.journal, "note:a", *drafts(3))
    workspace.prepare_tool_folder()
    (repository / "README.md").write_text("changed\n")
    (repository / "untracked.txt").write_text("new\n")

    git(*command, at=repository)

    assert workspace.journal.read("note:a") == written
    write(workspace.journal, "note:a")
    workspace.close()
    again = discover(str(repository))
    assert len(again.journal.read("note:a")) == 4
    assert [one["broken"] for one in verify(again.journal)] == [""]
    again.close()


def test_one_process_at_a_time_holds_the_workspace(repository: Path) -> None:
    workspace = discover(str(repository))

    with workspace.lock():
        impatient = workspace.lock()
        impatient._patience = 0.02
        with pytest.raises(HoldfastError) as busy, impatient:
            pass
    with workspace.lock():
        pass

    assert busy.value.kind == "store_busy"
