"""The tests' own guard: none of them works in the project's repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git, traces_in

holdfast = command_line.holdfast


@pytest.mark.parametrize(
    "words",
    [
        ["note", "one"],
        ["checkpoint", "--task", "t"],
        ["rfc", "init", "r1"],
        ["agent", "start", "Secondary-A", "--feature", "f"],
        ["guard", "check", "--cost", "1"],
    ],
    ids=lambda words: words[0],
)
def test_what_a_command_writes_is_seen(
    repository: Path, git: Git, holdfast: Holdfast, words: list[str], tmp_path: Path
) -> None:
    assert traces_in(str(repository)) == set()
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert holdfast(*words).code == 0
    assert str(repository / ".git" / "holdfast") in traces_in(str(repository))
    assert str(repository / ".git" / "holdfast") in traces_in(str(tmp_path / "tree"))
    ours = {".git", "README.md"}
    made = {str(path) for path in repository.iterdir() if path.name not in ours}
    assert made <= traces_in(str(repository)), "the guard knows every file that appears"
