"""The commit of a checkpoint: exactly the in-scope tracked files, once, and nothing else moves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.git.commit import CommitOutcome, commit_files
from holdfast.git.run import verb
from holdfast.kernel.errors import Usage
from tests.conftest import Git
from tests.git.conftest import Untouched, answer, contents, merge

MESSAGE = "wip(CIA-1): checkpoint — task 1 of 2\n\n#1 the parser"


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "holdfast tests")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tests@holdfast.invalid")


@pytest.fixture
def project(repository: Path, git: Git) -> Path:
    """Files a, b, c in the last commit."""
    for name in "abc":
        (repository / name).write_text(f"{name} one\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "files")
    return repository


def commit(root: Path, *files: str, id: str = "one", **options: object) -> CommitOutcome:
    return commit_files(str(root), files, MESSAGE, id, **options)  # type: ignore[arg-type]


def hook(root: Path, name: str, script: str) -> None:
    path = root / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def count(root: Path) -> int:
    return int(answer(root, "rev-list", "--count", "HEAD"))


def committed(root: Path) -> set[str]:
    listing = answer(root, "show", "--format=", "--name-only", "-z", "--no-renames")
    return {name for name in os.fsdecode(listing).split("\0") if name}


def status(root: Path) -> list[bytes]:
    return answer(root, "status", "--porcelain", "-z").split(b"\0")[:-1]


@pytest.mark.clause("CCC-31", "CCC-32", "AMB-CCC-08", "AMB-CCC-09")
def test_only_tracked_files_in_scope(project: Path) -> None:
    for name in ("a", "b", "new"):
        (project / name).write_text("two\n")

    done = commit(project, "a", "new", "missing")

    assert done["outcome"] == "committed"
    assert (done["files"], done["untracked"]) == (["a"], ["new"])
    assert done["commit"] == answer(project, "rev-parse", "HEAD").decode().strip()
    assert committed(project) == {"a"}
    assert status(project) == [b" M b", b"?? new"]


@pytest.mark.clause("CCC-29", "CCC-33")
def test_the_words_of_the_commands(project: Path, heard: list[list[str]]) -> None:
    (project / "a").write_text("two\n")

    commit(project, "a")

    assert heard[0][-4:-1] == ["status", "--porcelain", "-z"]
    (made,) = [command for command in heard if verb(command[1:]) == "commit"]
    assert made[made.index("--") :] == ["--", "a"], "only what is named"


@pytest.mark.clause("CCC-34", "AMB-CCC-01")
def test_message_and_trailer(project: Path, git: Git) -> None:
    git("config", "commit.cleanup", "strip")
    (project / "a").write_text("two\n")

    commit(project, "a", id="checkpoint-7")

    text = answer(project, "log", "-1", "--format=%B").decode()
    assert text.strip() == f"{MESSAGE}\n\nHoldfast-Checkpoint: checkpoint-7"
    trailers = answer(
        project, "log", "-1", "--format=%(trailers:key=Holdfast-Checkpoint,valueonly)"
    )
    assert trailers.strip() == b"checkpoint-7"


@pytest.mark.clause("CCC-38", "AMB-CCC-09")
def test_everything_else_stays_as_it_was(project: Path, git: Git) -> None:
    (project / "a").write_text("two\n")
    (project / "b").write_text("staged\n")
    git("add", "b")
    (project / "b").write_text("staged, then changed\n")
    (project / "staged new").write_text("x")
    git("add", "staged new")
    (project / "intended").write_text("x")
    git("add", "--intent-to-add", "intended")
    git("rm", "--quiet", "--cached", "c")
    (project / "untracked").write_text("x")

    def others() -> list[bytes]:
        listing = answer(project, "ls-files", "--stage", "-z").split(b"\0")
        return [line for line in listing if not line.endswith(b"\ta")]

    before, index, files = status(project), others(), contents(project)

    assert commit(project, "a")["outcome"] == "committed"

    assert status(project) == [line for line in before if line != b" M a"]
    assert others() == index
    assert contents(project) == files
    assert committed(project) == {"a"}


@pytest.mark.clause("AMB-CCC-08")
def test_deleted_files_are_committed(project: Path, git: Git) -> None:
    (project / "a").unlink()
    git("rm", "--quiet", "b")

    done = commit(project, "a", "b")

    assert (done["outcome"], done["files"]) == ("committed", ["a", "b"])
    assert committed(project) == {"a", "b"}
    assert status(project) == []


def test_what_left_the_index_is_not_put_back(project: Path, git: Git) -> None:
    git("rm", "--quiet", "--cached", "a")

    done = commit(project, "a")

    assert (done["outcome"], done["untracked"]) == ("nothing", ["a"])
    assert status(project) == [b"D  a", b"?? a"]


def test_both_sides_of_a_rename(project: Path, git: Git) -> None:
    git("mv", "a", "renamed")

    assert commit(project, "a", "renamed")["files"] == ["a", "renamed"]
    assert committed(project) == {"a", "renamed"}
    assert status(project) == []


def test_a_folder_in_scope(project: Path, git: Git) -> None:
    (project / "src").mkdir()
    (project / "src" / "one").write_text("1")
    git("add", "src")
    git("commit", "--quiet", "--message", "src")
    (project / "src" / "one").write_text("2")
    (project / "src" / "two").write_text("2")
    (project / "a").write_text("2")

    done = commit(project, "src/")

    assert (done["files"], done["untracked"]) == (["src/one"], ["src/two"])


def test_names_are_taken_literally(project: Path, git: Git) -> None:
    names = ["*", "[a]", ":(top)b", "with space", 'q"uote', "new\nline", "-dash"]
    for name in names:
        (project / name).write_text("one")
    git("--literal-pathspecs", "add", "--", *names)
    git("commit", "--quiet", "--message", "names")
    for name in [*names, "a", "b"]:
        (project / name).write_text("two")

    done = commit(project, *names)

    assert done["outcome"] == "committed"
    assert committed(project) == set(names)
    assert status(project) == [b" M a", b" M b"]


def test_more_names_than_a_command_has_room_for(
    project: Path, git: Git, heard: list[list[str]]
) -> None:
    (project / "many").mkdir()
    names = [f"many/{'x' * 200}-{number}" for number in range(700)]
    for name in names:
        (project / name).write_text("one")
    git("add", "many")
    git("commit", "--quiet", "--message", "many")
    for name in names:
        (project / name).write_text("two")

    assert commit(project, *names)["outcome"] == "committed"
    assert committed(project) == set(names)
    assert max(sum(map(len, command)) for command in heard) < 10_000


@pytest.mark.clause("CCC-30", "AMB-CCC-10")
def test_a_clean_tree(project: Path, heard: list[list[str]], untouched: Untouched) -> None:
    (project / ".ccc-state.json").write_text("{}")
    with untouched(project):
        assert commit(project, "a", exclude=[".ccc-state.json"])["outcome"] == "clean"
    assert "commit" not in {verb(command[1:]) for command in heard}


@pytest.mark.clause("CCC-36")
def test_nothing_in_scope(project: Path, untouched: Untouched) -> None:
    (project / "b").write_text("two")
    (project / "new").write_text("two")
    with untouched(project):
        done = commit(project, "a", "new")
        assert commit(project)["outcome"] == "nothing"
    assert (done["outcome"], done["untracked"]) == ("nothing", ["new"])


def test_staged_and_then_taken_back(project: Path, git: Git) -> None:
    (project / "a").write_text("two")
    git("add", "a")
    (project / "a").write_text("a one\n")

    assert commit(project, "a")["outcome"] == "nothing"
    assert status(project) == [b"MM a"]


@pytest.mark.clause("CCC-35")
@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "prepare-commit-msg"])
def test_a_hook_says_no(project: Path, name: str, untouched: Untouched) -> None:
    hook(project, name, "git status >/dev/null\necho 'lint: 3 errors' >&2\necho more >&2\nexit 1")
    (project / "a").write_text("two")

    with untouched(project):
        done = commit(project, "a")

    assert (done["outcome"], done["hook"], done["message"]) == (
        "hook_failed",
        name,
        "lint: 3 errors",
    )


def test_hooks_that_agree_run(project: Path) -> None:
    hook(project, "pre-commit", "touch ran")
    hook(project, "post-commit", "exit 1")
    hook(project, "commit-msg", 'echo "Change-Id: I1" >> "$1"')
    (project / "a").write_text("two")

    assert commit(project, "a")["outcome"] == "committed"
    assert (project / "ran").exists()
    assert commit(project, "a")["outcome"] == "already"


def test_a_hook_that_hangs(project: Path) -> None:
    hook(project, "pre-commit", "sleep 20")
    (project / "a").write_text("two")

    done = commit(project, "a", seconds=0.5)

    assert done["outcome"] == "failed"
    assert "0.5 s" in done["message"]
    assert not (project / ".git" / "index.lock").exists()


def test_a_second_run_makes_no_second_commit(project: Path) -> None:
    (project / "a").write_text("two")
    first = commit(project, "a")
    (project / "a").write_text("three")
    total = count(project)

    again = commit(project, "a")

    assert (again["outcome"], again["commit"]) == ("already", first["commit"])
    assert count(project) == total
    assert commit(project, "a", id="two")["outcome"] == "committed"
    assert commit(project, "a")["commit"] == first["commit"]


def test_already_is_said_on_a_clean_tree_too(project: Path) -> None:
    (project / "a").write_text("two")
    commit(project, "a")
    assert commit(project, "a")["outcome"] == "already"


def test_only_twenty_commits_are_looked_at(project: Path, git: Git) -> None:
    (project / "a").write_text("two")
    commit(project, "a")
    for number in range(20):
        git("commit", "--quiet", "--allow-empty", "--message", f"{number}")
    assert commit(project, "a")["outcome"] == "clean"


def test_an_id_is_no_prefix(project: Path) -> None:
    (project / "a").write_text("two")
    commit(project, "a", id="one-more")
    (project / "a").write_text("three")
    assert commit(project, "a", id="one")["outcome"] == "committed"


@pytest.mark.clause("CCC-37")
def test_other_failures_are_outcomes(
    project: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a").write_text("two")
    (project / ".git" / "index.lock").touch()
    locked = commit(project, "a")
    assert (locked["outcome"], locked["commit"]) == ("failed", None)
    assert "index.lock" in locked["message"]
    (project / ".git" / "index.lock").unlink()

    assert commit_files(str(tmp_path), ["a"], MESSAGE, "one")["outcome"] == "failed"

    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME")
        monkeypatch.delenv(f"GIT_{role}_EMAIL")
    git("config", "user.useConfigOnly", "true")
    nobody = commit(project, "a")
    assert nobody["outcome"] == "failed"
    assert nobody["message"]

    monkeypatch.setenv("PATH", str(tmp_path))
    missing = commit(project, "a")
    assert missing["outcome"] == "failed"
    assert "PATH" in missing["message"]


@pytest.mark.clause("CCC-37")
def test_an_unmerged_index(project: Path, git: Git, untouched: Untouched) -> None:
    git("switch", "--quiet", "--create", "side")
    (project / "a").write_text("side\n")
    git("commit", "--quiet", "--all", "--message", "side")
    git("switch", "--quiet", "main")
    (project / "a").write_text("main\n")
    git("commit", "--quiet", "--all", "--message", "main")
    merge(project, "side")

    with untouched(project):
        done = commit(project, "a")

    assert done["outcome"] == "failed"
    assert "merge" in done["message"]


def test_a_repository_without_a_commit(tmp_path: Path, git: Git) -> None:
    git("init", "--quiet", str(tmp_path))
    (tmp_path / "a").write_text("one")
    assert commit(tmp_path, "a")["outcome"] == "nothing"
    git("add", "a", at=tmp_path)
    assert commit(tmp_path, "a")["outcome"] == "committed"


def test_seen_from_a_folder_inside(project: Path, git: Git) -> None:
    (project / "inner").mkdir()
    (project / "inner" / "a").write_text("one")
    git("add", "inner")
    git("commit", "--quiet", "--message", "inner")
    (project / "inner" / "a").write_text("two")
    (project / "a").write_text("two")

    assert commit(project / "inner", "a")["files"] == ["a"]
    assert committed(project) == {"inner/a"}


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../x", "nul\0byte"])
def test_paths_that_leave_the_root_are_refused(project: Path, path: str) -> None:
    (project / "a").write_text("two")
    with pytest.raises(Usage):
        commit(project, "a", path)
    assert status(project) == [b" M a"]


def test_names_of_other_bytes(project: Path) -> None:
    name = os.fsdecode(b"latin-\xfc")
    (project / name).write_text("one")
    answer(project, "add", "--", name)
    assert commit(project, name)["outcome"] == "committed"
    assert committed(project) == {name}
