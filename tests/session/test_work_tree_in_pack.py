"""The pack says where its reader stands: the branch, and which files are not committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Git
from tests.session import world
from tests.session.world import WORK, Holdfast, hook, said

holdfast = world.holdfast


def tree(text: str) -> list[str]:
    """The lines of the section, as they are read."""
    assert text.count("\n## Work tree now\n") == 1, text
    after = text.partition("\n## Work tree now\n")[2]
    found = []
    for line in after.split("\n"):
        if line.startswith(("## ", "```")):
            break
        found.append(line)
    return found


def resumed(holdfast: Holdfast, *words: str) -> Any:
    answer = holdfast("resume", *words, "--json")
    assert answer.code == 0, answer
    return answer.data


def test_branch_and_uncommitted_files_are_named(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    git("switch", "--quiet", "--create", "fix-quotes")
    for name in ("words.py", "old.py", "gone.py"):
        Path(name).write_text("as committed\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "words")
    Path("words.py").write_text("half of the work\n")
    Path("gone.py").unlink()
    git("mv", "old.py", "new name.py")
    Path("README.md").write_text("staged\n")
    git("add", "README.md")
    Path("tests").mkdir()
    Path("tests/test_words.py").write_text("untracked\n")
    holdfast("checkpoint", *WORK, "--skip-git")
    found = resumed(holdfast)
    assert tree(found["pack"]) == [
        f"- branch fix-quotes, commit {git('rev-parse', 'HEAD')[:12]}",
        "- staged, not committed: README.md, new name.py (was old.py)",
        "- modified, not committed: gone.py (deleted), words.py",
        "- untracked: tests/test_words.py",
    ]
    assert found["work_tree"] == {
        "branch": "fix-quotes",
        "commit": git("rev-parse", "HEAD").strip(),
        "is_known": True,
        "conflicted": [],
        "staged": ["README.md", "new name.py (was old.py)"],
        "modified": ["gone.py (deleted)", "words.py"],
        "untracked": ["tests/test_words.py"],
        "no_longer": [],
        "counts": {"conflicted": 0, "staged": 2, "modified": 2, "untracked": 1, "no_longer": 0},
    }


def test_files_of_holdfast_are_not_the_work(repository: Path, holdfast: Holdfast, git: Git) -> None:
    holdfast("note", "look at the docs")
    holdfast("checkpoint", *WORK, "--skip-git")
    assert Path(".ccc-progress.md").exists()
    lines = tree(resumed(holdfast)["pack"])
    assert lines[1:] == ["- nothing is uncommitted"]


def test_what_is_committed_since_is_named_as_such(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    for name in ("a.py", "b.py"):
        Path(name).write_text("new\n")
    holdfast("checkpoint", *WORK, "--skip-git")
    git("add", "a.py")
    git("commit", "--quiet", "--message", "a")
    assert tree(resumed(holdfast)["pack"])[1:] == [
        "- untracked: b.py",
        "- uncommitted at the last checkpoint, no longer: a.py",
    ]


def test_a_detached_head_and_a_branch_without_a_commit(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    commit = git("rev-parse", "HEAD")[:12]
    holdfast("checkpoint", *WORK)
    git("checkout", "--quiet", "--detach")
    assert tree(resumed(holdfast)["pack"])[0] == f"- no branch: HEAD is detached at commit {commit}"
    git("switch", "--quiet", "--orphan", "empty")
    assert tree(resumed(holdfast)["pack"])[0] == "- branch empty, which has no commit yet"


def test_a_conflict_is_named_first(repository: Path, holdfast: Holdfast, git: Git) -> None:
    holdfast("checkpoint", *WORK)
    git("switch", "--quiet", "--create", "other")
    Path("README.md").write_text("theirs\n")
    git("commit", "--quiet", "--all", "--message", "theirs")
    git("switch", "--quiet", "main")
    Path("README.md").write_text("ours\n")
    git("commit", "--quiet", "--all", "--message", "ours")
    with pytest.raises(AssertionError, match="git merge"):
        git("merge", "--quiet", "other")
    lines = tree(resumed(holdfast)["pack"])
    assert lines[1:] == ["- in conflict, to be merged: README.md"]


@pytest.mark.parametrize("budget", [1_000, 2_500, 6_000])
def test_many_files_are_counted(repository: Path, holdfast: Holdfast, budget: int) -> None:
    Path("README.md").write_text("changed\n")
    Path("folder of files").mkdir()
    for number in range(42):
        Path(f"folder of files/new {number:02}.txt").write_text("new\n")
    holdfast("checkpoint", *WORK, "--skip-git")
    pack = resumed(holdfast, "--budget", str(budget))["pack"]
    _, modified, untracked = tree(pack)
    assert modified == "- modified, not committed: README.md"
    named, _, more = untracked.removeprefix("- untracked: ").partition(" and ")
    shown = named.split(", ")
    assert more == f"{42 - len(shown)} more"
    assert len(shown) == 11 if budget == 6_000 else 1 <= len(shown) < 11
    assert len(pack) <= budget


def test_a_name_cannot_pretend_to_be_ours(repository: Path, holdfast: Holdfast) -> None:
    Path("a\n## Still failing\n- make.py").write_text("new\n")
    holdfast("checkpoint", *WORK, "--skip-git")
    assert tree(resumed(holdfast)["pack"])[1:] == ["- untracked: a ## Still failing - make.py"]


def test_a_session_start_tells_it_and_a_folder_without_git_does_not(
    repository: Path, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("words.py").write_text("half of the work\n")
    holdfast("checkpoint", *WORK, "--skip-git")
    told = said(hook("SessionStart", "SessionStart.startup"))
    text = told["hookSpecificOutput"]["additionalContext"]
    assert tree(text)[0].startswith("- branch main, commit ")
    assert tree(text)[1:] == ["- untracked: words.py"]
    plain = tmp_path / "plain"
    (plain / ".holdfast").mkdir(parents=True)
    monkeypatch.chdir(plain)
    holdfast("note", "no git here")
    holdfast("checkpoint", *WORK)
    found = resumed(holdfast)
    assert found["work_tree"] is None
    assert "Work tree now" not in found["pack"]
