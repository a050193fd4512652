"""`uninstall` says what is left, and its commands remove it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast as library
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.gates.person import Terminal

pytestmark = pytest.mark.usefixtures("repository")


def test_what_is_left_is_named_and_its_commands_remove_it(holdfast: Holdfast, git: Git) -> None:
    before = git("status", "--porcelain", "--ignored")
    holdfast("init", "--client", "claude")
    holdfast("checkpoint", "--task", "Renderer")
    holdfast("note", "one")
    Path("untracked").write_text("x")
    holdfast("snapshot", "create")
    Path("untracked").unlink()
    Path("lost").write_text("Dropped from the stash.\n")
    lost = git("hash-object", "-w", "lost").strip()
    Path("lost").unlink()
    answer = holdfast("uninstall", "--json")
    left = answer.data["left"]
    assert [one["path"] for one in left if one["path"].endswith(".git/holdfast")]
    assert [one["path"] for one in left if one["path"].endswith(".ccc-progress.md")]
    for one in left:
        subprocess.run(one["remove"], shell=True, check=True, capture_output=True)
    assert not Path(".git/holdfast").exists()
    assert git("for-each-ref", "refs/holdfast") == ""
    assert git("cat-file", "-t", lost) == "blob\n", "a person's own object that no ref names"
    assert git("status", "--porcelain", "--ignored") == before
    assert holdfast("uninstall", "--json").data["left"] == []


def test_the_text_has_each_command_on_a_line_of_its_own(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    lines = [line.strip() for line in holdfast("uninstall").out.splitlines()]
    assert f"rm -r {Path('.git/holdfast').resolve()}" in lines
    assert Path(".git/holdfast/journal.db").exists()


def work_as_a_session(holdfast: Holdfast) -> None:
    holdfast("checkpoint", "--task", "Renderer", "--next", "Colours")
    holdfast("note", "one")
    holdfast("snapshot", "create")


def work_as_a_loop(holdfast: Holdfast) -> None:
    workspace = library.open()
    with workspace.agent("Secondary-A", feature="feature_02") as agent:
        agent.beat(step="Begin")
        with workspace.loop("build").step("EXECUTE", tasks=["a", "b"]) as step:
            for task in step.remaining():
                step.done(task)
    workspace.close()


def work_under_a_budget(holdfast: Holdfast) -> None:
    Path(".autopilot").mkdir()
    holdfast("guard", "check", "--cost", "55")
    holdfast("gate", "verify", "--built", "Dashboard", "--how", "look")
    holdfast("guard", "check", "--cost", "56")


WORKS = (work_as_a_session, work_as_a_loop, work_under_a_budget)


@pytest.mark.parametrize("work", WORKS)
def test_every_printed_command_together_leaves_nothing(
    holdfast: Holdfast, git: Git, repository: Path, work: Callable[[Holdfast], None]
) -> None:
    before = git("status", "--porcelain", "--ignored"), files_of_home()
    holdfast("init", "--client", "claude", "--client", "codex")
    work(holdfast)
    for one in holdfast("uninstall", "--json").data["left"]:
        subprocess.run(one["remove"], shell=True, check=True, capture_output=True)
    assert (git("status", "--porcelain", "--ignored"), files_of_home()) == before
    assert [path.name for path in repository.iterdir() if path.name != ".git"] == visible(git)


@pytest.mark.parametrize("work", WORKS)
def test_one_command_removes_everything(
    holdfast: Holdfast, git: Git, repository: Path, work: Callable[[Holdfast], None]
) -> None:
    before = git("status", "--porcelain", "--ignored"), files_of_home()
    holdfast("init", "--client", "claude", "--client", "codex")
    work(holdfast)
    shown = holdfast("uninstall", "--everything", "--dry-run")
    assert "Would remove: the journal of all that happened" in shown.out
    assert Path(".git/holdfast/journal.db").exists()
    assert Path(".claude/settings.local.json").exists()
    terminal = Terminal("uninstall", "--everything")
    terminal.type_back()
    answer = terminal.leave()
    assert answer.code == 0, answer.screen
    assert (git("status", "--porcelain", "--ignored"), files_of_home()) == before
    assert [path.name for path in repository.iterdir() if path.name != ".git"] == visible(git)
    assert not Path(".git/holdfast").exists()
    assert git("for-each-ref", "refs/holdfast") == ""


def files_of_home() -> list[str]:
    home = Path(os.environ["HOME"])
    return sorted(str(path) for path in home.rglob("*") if path.is_file())


def visible(git: Git) -> list[str]:
    """What git tracks at the top: nothing else was there before, not even an empty folder."""
    return sorted({name.partition("/")[0] for name in git("ls-files").split()})


def test_only_a_person_removes_everything(holdfast: Holdfast) -> None:
    holdfast("init", "--client", "claude")
    holdfast("note", "one")
    assert holdfast("uninstall", "--everything").code == 4
    assert Path(".git/holdfast/journal.db").exists()
    assert Path(".claude/settings.local.json").exists(), "the settings stay as well"


def test_what_people_wrote_or_committed_stays(holdfast: Holdfast, git: Git) -> None:
    holdfast("rfc", "init", "rfc-1")
    holdfast("note", "one")
    git("add", ".notes")
    git("commit", "--quiet", "--message", "notes")
    left = {one["what"]: one["remove"] for one in holdfast("uninstall", "--json").data["left"]}
    assert left["files that holdfast wrote, and that git tracks (1)"].endswith(
        " rm .notes/default.md"
    )
    assert left["an RFC and its evidence, which its author wrote"].endswith("/.ohrfc/rfc-1")
    terminal = Terminal("uninstall", "--everything")
    terminal.type_back()
    answer = terminal.leave()
    assert answer.code == 0, answer.screen
    assert Path(".ohrfc/rfc-1/rfc.md").exists()
    assert Path(".notes/default.md").exists()
    assert not Path(".ohrfc/rfc-1/state.json").exists()


def test_what_other_projects_use_stays(holdfast: Holdfast, git: Git, tmp_path: Path) -> None:
    holdfast("init", "--client", "claude")
    other = tmp_path / "other"
    git("init", "--quiet", str(other), at=tmp_path)
    holdfast("init", "--client", "claude", "-C", str(other))
    terminal = Terminal("uninstall", "--everything")
    terminal.type_back()
    assert terminal.leave().code == 0
    assert (Path(os.environ["HOME"]) / ".local/share/holdfast/hook.sh").exists()


def test_snapshots_on_a_remote_are_named_with_the_command_that_removes_them(
    holdfast: Holdfast, git: Git, tmp_path: Path, repository: Path
) -> None:
    hub = tmp_path / "hub.git"
    git("clone", "--quiet", "--bare", str(repository), str(hub))
    git("remote", "add", "origin", str(hub))
    branches = git("for-each-ref", at=hub)
    for text in ("a secret", "another"):
        Path("untracked").write_text(text)
        assert holdfast("snapshot", "push").code == 0
    # No remote is asked: it may be away, or no longer be ours.
    hub.rename(tmp_path / "away")
    terminal = Terminal("uninstall", "--everything")
    terminal.type_back()
    answer = terminal.leave()
    assert answer.code == 0, answer.screen
    said = " ".join(answer.screen.split())
    assert "snapshots that were pushed to origin (2); all who can read it can read them" in said
    (tmp_path / "away").rename(hub)
    assert git("for-each-ref", at=hub) != branches
    start = said.index("git push origin --delete")
    command = said[start:].split("  ")[0]
    names = [word for word in command.split() if word.startswith("refs/holdfast/")]
    subprocess.run(["git", "push", "--quiet", "origin", "--delete", *names], check=True)
    assert git("for-each-ref", at=hub) == branches


def test_a_removed_file_of_a_person_is_not_offered_again(holdfast: Holdfast) -> None:
    """What is left is the author's: no command of ours removes it."""
    holdfast("rfc", "init", "rfc-1")
    assert "holdfast uninstall --everything" in holdfast("uninstall").out
    terminal = Terminal("uninstall", "--everything")
    terminal.type_back()
    answer = terminal.leave()
    assert answer.code == 0, answer.screen
    assert "To remove all that holdfast wrote" not in answer.screen
