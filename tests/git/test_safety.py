"""A repository from elsewhere names programs. Git, as we call it, starts none of them."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.git.commit import commit_files
from holdfast.git.restore import restore
from holdfast.git.run import repository_filters
from holdfast.git.snapshot import create, list_snapshots, show
from holdfast.git.status import digest_of, files_between, read_status
from holdfast.kernel.text import split_words
from tests.conftest import Git

HOOKS = split_words(
    "pre-commit post-commit post-checkout post-index-change reference-transaction "
    "post-rewrite commit-msg prepare-commit-msg pre-auto-gc"
)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that says that it was run, and passes its input on."""
    program = tmp_path / "trap"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{tmp_path / "ran"}"\ncat\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.fixture(autouse=True)
def identity(repository: Path, git: Git) -> None:
    git("config", "user.name", "A")
    git("config", "user.email", "a@example.com")


@pytest.fixture
def ran(tmp_path: Path) -> Callable[[], str]:
    def read() -> str:
        file = tmp_path / "ran"
        return file.read_text() if file.exists() else ""

    return read


def arm(folder: Path, trap: Path, git: Git) -> None:
    """Every program that a repository can name for a look at its work tree."""
    for key in ("core.fsmonitor", "diff.external", "core.pager", "gpg.program", "core.sshCommand"):
        git("config", key, str(trap), at=folder)
    for name in ("evil", "e.v il"):
        for key in ("clean", "smudge"):
            git("config", f"filter.{name}.{key}", str(trap), at=folder)
        git("config", f"diff.{name}.textconv", str(trap), at=folder)
        git("config", f"diff.{name}.command", str(trap), at=folder)
    git("config", "log.showSignature", "true", at=folder)
    git("config", "diff.ignoreSubmodules", "none", at=folder)
    (folder / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        (hooks / name).symlink_to(trap)


def use_all(root: str) -> None:
    changes = read_status(root)
    digest_of(root, changes)
    snapshot = create(root)
    list_snapshots(root)
    show(root, snapshot["id"])
    (Path(root) / "README.md").write_text("another text")
    restore(root, snapshot["id"])


def test_looking_snapshot_and_restore_run_nothing(
    repository: Path, trap: Path, ran: Callable[[], str], git: Git
) -> None:
    (repository / "a.txt").write_text("one")
    git("add", ".")
    git("commit", "--quiet", "--message", "two")
    arm(repository, trap, git)
    (repository / "a.txt").write_text("two")
    (repository / "b.txt").write_text("new")
    files_between(
        str(repository), git("rev-parse", "HEAD~1").strip(), git("rev-parse", "HEAD").strip()
    )
    use_all(str(repository))
    assert ran() == ""


def test_repositories_inside_run_nothing_in_any_use(
    repository: Path, trap: Path, ran: Callable[[], str], git: Git
) -> None:
    for name in ("module", "loose"):
        inner = repository / name
        git("init", "--quiet", str(inner))
        (inner / "a.txt").write_text("one")
        git("add", ".", at=inner)
        git("commit", "--quiet", "--message", "one", at=inner)
    git("add", "module")
    (repository / ".gitmodules").write_text(
        '[submodule "mod ule"]\n\tpath = module\n\turl = ./module\n\tignore = none\n'
    )
    git("add", ".gitmodules")
    git("commit", "--quiet", "--message", "two")
    for name in ("module", "loose"):
        arm(repository / name, trap, git)
        (repository / name / "a.txt").write_text("two")
    use_all(str(repository))
    (repository / "README.md").write_text("changed")
    done = commit_files(str(repository), ["README.md"], "Change", "c1")
    assert done["outcome"] == "committed"
    assert ran() == ""


def test_filters_are_found_through_includes(repository: Path, git: Git) -> None:
    assert repository_filters(str(repository)) == []
    (repository / "more.cfg").write_text('[filter "hidden"]\n\tclean = false\n')
    git("config", "include.path", "../more.cfg")
    assert repository_filters(str(repository)) == ["hidden"]


@pytest.mark.parametrize("is_included", [False, True])
def test_a_filter_without_a_name_does_not_run(
    repository: Path, trap: Path, ran: Callable[[], str], git: Git, is_included: bool
) -> None:
    config = repository / ("more.cfg" if is_included else ".git/config")
    with config.open("a") as file:
        file.write(f'[filter ""]\n\tclean = "{trap}"\n')
    if is_included:
        git("config", "include.path", "../more.cfg")
    (repository / ".gitattributes").write_text("*.txt filter=\n")
    (repository / "a.txt").write_text("one")
    create(str(repository))
    assert ran() == ""


def test_a_file_whose_filter_the_repository_names_is_left_out_of_snapshots(
    repository: Path, trap: Path, git: Git
) -> None:
    arm(repository, trap, git)
    (repository / "secret.txt").write_text("in plain")
    (repository / "other.md").write_text("kept")
    snapshot = create(str(repository))
    (skipped,) = snapshot["skipped"]
    assert skipped["path"] == "secret.txt"
    assert "evil" in skipped["reason"]
    held = git("ls-tree", "-r", "--name-only", snapshot["commit"]).split()
    assert "other.md" in held
    assert "secret.txt" not in held


def test_a_filter_of_the_user_stays(
    repository: Path, trap: Path, ran: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = trap.with_name("gitconfig")
    settings.write_text(f'[filter "users"]\n\tclean = "{trap}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    (repository / ".gitattributes").write_text("*.txt filter=users\n")
    (repository / "a.txt").write_text("one")
    assert create(str(repository))["skipped"] == []
    assert ran()


def test_a_commit_that_was_asked_for_runs_the_users_hooks(
    repository: Path, trap: Path, ran: Callable[[], str], git: Git
) -> None:
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    (repository / ".git" / "hooks" / "post-commit").symlink_to(trap)
    (repository / "README.md").write_text("changed")
    assert commit_files(str(repository), ["README.md"], "Change", "c1")["outcome"] == "committed"
    assert "post-commit" in ran()
