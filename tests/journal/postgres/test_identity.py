"""What two machines agree on without being told: which workspace this is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.kernel.errors import Usage
from holdfast.kernel.workspace import discover
from holdfast.remote.identity import is_alike, machine_of, name_of, name_of_remote, settle
from tests.trusting import trust_settings

if TYPE_CHECKING:
    from tests.conftest import Git

REMOTES = {
    "git@github.com:Org/Repo.git": "github.com/org/repo",
    "https://github.com/org/repo": "github.com/org/repo",
    "https://token:x-oauth@github.com/org/repo.git/": "github.com/org/repo",
    "ssh://git@github.com:22/org/repo.git": "github.com/org/repo",
    "https://git.example:8443/a/b/c.git": "git.example:8443/a/b/c",
    "git://example.com/x": "example.com/x",
    "/srv/git/project.git": "",
    "../project": "",
    "file:///srv/git/project.git": "",
    "": "",
}


def settled(folder: str = "") -> str:
    """The name, as the first record settles it."""
    workspace = discover(folder or None)
    return settle(workspace, name_of(workspace), machine_of(workspace))[0]


def test_reading_writes_nothing_down(repository: Path) -> None:
    name_of(discover())
    machine_of(discover())
    assert not Path(".git/holdfast").exists()


def test_a_repository_from_elsewhere_starts_no_program(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    """Git fetches a commit that is missing from a partial clone's remote, by a program of its settings."""
    mark = tmp_path / "started"
    git("config", "core.repositoryformatversion", "1")
    git("config", "extensions.partialClone", "origin")
    git("config", "remote.origin.promisor", "true")
    git("config", "core.sshCommand", f"touch {mark}; false")
    git("commit", "--allow-empty", "--quiet", "-m", "second")
    first = git("rev-list", "--max-parents=0", "HEAD").strip()
    (Path(".git/objects") / first[:2] / first[2:]).unlink()
    git("config", "remote.origin.url", "/nowhere/else", at=repository)
    git("config", "url.ssh://host.invalid/repo.insteadOf", "/nowhere/else")
    assert name_of(discover())
    assert not mark.exists()


@pytest.mark.parametrize("address", REMOTES)
def test_a_remote_names_the_workspace_however_it_is_spelled(address: str) -> None:
    assert name_of_remote(address) == REMOTES[address]


def test_two_clones_of_one_remote_are_one_workspace(
    tmp_path: Path, git: Git, repository: Path
) -> None:
    names = set()
    for clone in ("here", "there"):
        git("clone", "--quiet", str(repository), str(tmp_path / clone))
        git("remote", "set-url", "origin", "git@github.com:org/repo.git", at=tmp_path / clone)
        names.add(name_of(discover(str(tmp_path / clone))))
    assert names == {"github.com/org/repo"}


def test_a_remote_that_moves_does_not_leave_the_journal_behind(repository: Path, git: Git) -> None:
    git("remote", "add", "origin", "git@github.com:org/old.git")
    settled()
    git("remote", "set-url", "origin", "git@github.com:org/new.git")
    assert name_of(discover()) == "github.com/org/old"


def test_clones_of_a_folder_are_one_workspace_and_forks_are_not(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    git("commit", "--quiet", "--allow-empty", "-m", "first")
    origin = tmp_path / "p2.git"
    git("clone", "--quiet", "--bare", str(repository), str(origin))
    for clone, address in (("ada", str(origin)), ("ben", f"file://{origin}"), ("cy", "../p2")):
        git("clone", "--quiet", str(origin), str(tmp_path / clone))
        git("remote", "set-url", "origin", address, at=tmp_path / clone)
    names = {name_of(discover(str(tmp_path / clone))) for clone in ("ada", "ben", "cy")}
    first = git("rev-list", "--max-parents=0", "HEAD", at=tmp_path / "ada").strip()
    [name] = names
    assert name.startswith(f"p2-{first[:8]}-")
    # What is merged in or checked out later changes nothing.
    git("checkout", "--quiet", "--orphan", "other", at=tmp_path / "ada")
    git("commit", "--quiet", "--allow-empty", "-m", "another beginning", at=tmp_path / "ada")
    assert name_of(discover(str(tmp_path / "ada"))) == name
    git("clone", "--quiet", "--bare", str(origin), str(tmp_path / "fork/p2.git"))
    git("clone", "--quiet", str(tmp_path / "fork/p2.git"), str(tmp_path / "dan"))
    fork = name_of(discover(str(tmp_path / "dan")))
    assert fork != name
    assert is_alike(name, fork)


def test_a_repository_without_a_remote_is_the_origin_of_its_clones(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    git("commit", "--quiet", "--allow-empty", "-m", "first")
    git("clone", "--quiet", str(repository), str(tmp_path / "clone"))
    assert name_of(discover()) == settled(str(tmp_path / "clone"))
    assert name_of(discover()).startswith("repository-")
    git("worktree", "add", "--quiet", str(tmp_path / "worktree"))
    assert name_of(discover(str(tmp_path / "worktree"))) == settled()


def test_a_repository_without_a_commit_has_one_name_too(tmp_path: Path, git: Git) -> None:
    for name in ("one", "two"):
        git("init", "--quiet", str(tmp_path / name / "p"))
    one, again, two = (
        name_of(discover(str(tmp_path / name / "p"))) for name in ("one", "one", "two")
    )
    assert one == again != two


ALIKE = {
    ("p2-b84f880a-c21a90", "p2-b84f880a-000000"): True,
    ("p2-b84f880a-c21a90", "renamed-b84f880a-000000"): True,
    ("p2-b84f880a-c21a90", "github.com/org/p2"): True,
    ("p2-b84f880a-c21a90", "p2-00000000-c21a90"): True,
    ("p2-b84f880a-c21a90", "p3-00000000-c21a90"): False,
    ("p2-b84f880a-c21a90", "p2-b84f880a-c21a90"): False,
    ("github.com/org/one", "github.com/org/two"): False,
}


@pytest.mark.parametrize("names", ALIKE)
def test_names_that_may_be_of_one_project(names: tuple[str, str]) -> None:
    assert is_alike(*names) is is_alike(*reversed(names)) is ALIKE[names]


def test_the_setting_decides(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("holdfast.toml").write_text('[journal]\nworkspace = "team/product"\n')
    trust_settings()
    assert name_of(discover()) == "team/product"
    monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", "mine")
    assert name_of(discover()) == "mine"


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, " x", "\x1b[31m"])
def test_a_name_that_is_none_is_refused(
    name: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", name)
    with pytest.raises(Usage):
        name_of(discover())


def test_a_copied_folder_is_another_machine(repository: Path, tmp_path: Path) -> None:
    """Its files have other inodes: with the first one's rows they would all look edited."""
    settled()
    machine = machine_of(discover())
    assert machine_of(discover()) == machine
    shutil.copytree(repository, tmp_path / "copy")
    copy = machine_of(discover(str(tmp_path / "copy")))
    assert copy
    assert copy != machine
