"""The door to git: what goes in, and what each failure is called."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from holdfast.git import run
from holdfast.git.repository import GitError
from holdfast.git.run import ALWAYS, LOOKING, git
from tests.conftest import Git
from tests.session.world import is_running, wait_for


def refusal(root: Path | str, *arguments: str, seconds: float = 30.0) -> GitError:
    with pytest.raises(GitError) as caught:
        git(str(root), *arguments, seconds=seconds)
    return caught.value


def test_it_answers_in_bytes(repository: Path) -> None:
    assert git(str(repository), "ls-files", "-z") == b"README.md\0"


def test_no_shell_reads_the_arguments(repository: Path) -> None:
    error = refusal(repository, "show", "$(touch broken); touch broken")

    assert error.kind == "git_failed"
    assert not (repository / "broken").exists()


def test_the_first_line_of_the_complaint_is_in_the_message(repository: Path) -> None:
    error = refusal(repository, "rev-parse", "--verify", "nothing-like-this")

    assert error.message == "`git rev-parse` failed: Needed a single revision"


def test_a_folder_in_no_repository(tmp_path: Path) -> None:
    assert refusal(tmp_path, "status").kind == "not_a_repository"
    assert refusal(tmp_path / "missing", "status").kind == "not_a_repository"


def test_no_git_on_this_machine(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))

    error = refusal(repository, "status")

    assert error.kind == "git_missing"
    assert "PATH" in error.message
    assert error.hint


def test_a_git_that_hangs_is_ended_with_its_children(repository: Path) -> None:
    begun = repository / "begun"
    hangs = f"alias.hang=!sleep 60 & echo $$ $! >'{begun}'; wait"
    for seconds in (0.2, 2.0, 20.0):  # a loaded machine may not even have begun
        started = time.monotonic()
        error = refusal(repository, "-c", hangs, "hang", seconds=seconds)
        assert error.kind == "git_timeout"
        assert error.retryable
        assert time.monotonic() - started < seconds + 2.7
        if begun.exists() and begun.read_text():
            break
    shell, child = map(int, begun.read_text().split())
    wait_for(lambda: not is_running(shell) and not is_running(child))


def test_without_check_the_answer_counts_alone(repository: Path) -> None:
    assert git(str(repository), "rev-parse", "--verify", "--quiet", "no", check=False) == b""


def test_the_environment_of_a_hook_does_not_lead_elsewhere(
    repository: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git("init", "--quiet", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    monkeypatch.setenv("GIT_TRACE", "1")

    assert run.git(str(repository), "ls-files", "-z") == b"README.md\0"
    assert run.run(str(repository), "ls-files").errors == ""


def test_what_every_git_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")
    told = run.surroundings({"GIT_INDEX_FILE": "mine"})

    assert told["GIT_OPTIONAL_LOCKS"] == told["GIT_TERMINAL_PROMPT"] == "0"
    assert told["LC_ALL"] == "C"
    assert told["GIT_INDEX_FILE"] == "mine"
    assert told["GIT_AUTHOR_NAME"] == "somebody"
    assert os.environ.get("GIT_INDEX_FILE") is None


def test_every_command_is_heard(repository: Path, heard: list[list[str]]) -> None:
    git(str(repository), "-c", "core.bare=false", "ls-files")

    assert heard == [
        ["git", "-C", str(repository), *ALWAYS, *LOOKING, "-c", "core.bare=false", "ls-files"]
    ]
    assert run.verb(heard[0][1:]) == "ls-files"
