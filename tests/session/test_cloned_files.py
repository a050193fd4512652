"""A clone brings the files of the CCC protocol: with my key, no comment goes to an issue of their author."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Git
from tests.gates.person import does
from tests.session import world
from tests.session.world import PROGRESS, STATE, WORK, Holdfast, hook, said, set_state
from tests.trackers.fake_linear import FakeLinear

holdfast = world.holdfast
linear_server, linear = world.linear_server, world.linear

LOOP = {"phase": "execution", "executionMode": "quick", "taskIndex": 1, "totalTasks": 3}
THEIRS = "ENG-66"


@pytest.fixture(autouse=True)
def strangers_issues(linear: FakeLinear) -> None:
    """The tracker would take a comment on them."""
    linear.add_issue(THEIRS)
    linear.add_issue("ENG-67")


def came_with_a_clone(git: Git, *names: Path) -> None:
    git("add", "--force", *map(str, names))
    git("commit", "--quiet", "--message", "from elsewhere")


@pytest.fixture
def state_file(repository: Path, git: Git) -> Path:
    """The loop of a stranger, which names an issue of the stranger's choice."""
    set_state(**LOOP, linearIssue=THEIRS, awaitingGate=2)
    came_with_a_clone(git, STATE)
    return STATE


@pytest.fixture
def progress_file(repository: Path, git: Git, holdfast: Holdfast, linear: FakeLinear) -> Path:
    """The progress of a stranger, which names an issue of the stranger's choice."""
    work = [THEIRS if word == "ENG-12" else word for word in WORK]
    text = PROGRESS_TEXT.format(issue=THEIRS, task=work[5])
    PROGRESS.write_text(text, "utf-8")
    came_with_a_clone(git, PROGRESS)
    return PROGRESS


PROGRESS_TEXT = """# Session Progress

**Issue:** {issue} — Parse dates
**Session:** 2026-11-15T12:00:00Z
**Execution Mode:** exec:checkpoint

## Completed Tasks
- None

## Current Task
- {task}

## Remaining Tasks
- None

## Decisions Made
- None

## Blockers
- None

## Continuation Prompt
Resume {issue}. Current task: not stated. Key files: see git status.
Next action: go on.
"""


def work_with_hooks(holdfast: Holdfast) -> None:
    """What a client and its agent do in a clone."""
    said(hook("SessionStart", "SessionStart.startup", session_id="s1"))
    for _ in range(2):
        said(hook("Stop", session_id="s1"))
    holdfast("checkpoint", "--auto", "--session", "s1", "--next", "go on")
    holdfast("checkpoint", "--task", "mine", "--session", "s1")
    said(hook("SessionEnd", "SessionEnd.other", session_id="s1"))
    holdfast("tracker", "sync")


def test_a_cloned_state_file_names_no_issue_and_drives_no_loop(
    state_file: Path, git: Git, holdfast: Holdfast, linear: FakeLinear
) -> None:
    work_with_hooks(holdfast)
    assert linear.on(THEIRS) == []
    set_state(**LOOP, linearIssue=THEIRS)
    assert said(hook("Stop", session_id="s1")) == {}, "the agent may stop"
    assert git("status", "--porcelain", str(STATE)).strip().startswith("M"), "my own edit"


def test_a_cloned_progress_file_names_no_issue(
    progress_file: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    work_with_hooks(holdfast)
    assert linear.on(THEIRS) == []


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_clone_with_another_format_of_the_index_names_no_issue(
    state_file: Path, git: Git, holdfast: Holdfast, linear: FakeLinear, version: str
) -> None:
    git("update-index", "--index-version", version)
    work_with_hooks(holdfast)
    assert linear.on(THEIRS) == []


def test_a_project_in_a_folder_of_a_clone_names_no_issue(
    repository: Path,
    git: Git,
    holdfast: Holdfast,
    linear: FakeLinear,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The workspace begins at its settings, the repository further up."""
    inner = repository / "packages" / "one"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    Path("holdfast.toml").write_text("")
    set_state(**LOOP, linearIssue=THEIRS, awaitingGate=2)
    came_with_a_clone(git, inner)
    work_with_hooks(holdfast)
    assert linear.on(THEIRS) == []


def test_status_and_doctor_say_that_the_files_are_not_followed(
    state_file: Path, progress_file: Path, holdfast: Holdfast
) -> None:
    shown = " ".join(holdfast("status").out.split())
    for name in (STATE, PROGRESS):
        assert f"{name} came with the repository and is not followed" in shown
    assert "holdfast trust" in shown
    assert f"trusts them: {STATE}, {PROGRESS}" in " ".join(holdfast("doctor").out.split())
    warned = holdfast("checkpoint", "--task", "mine").err
    assert f"{STATE} came with the repository and is not followed" in warned


def test_a_person_trusts_the_files_and_is_asked_again_about_another_issue(
    state_file: Path, progress_file: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    listed = holdfast("trust", "--show").out
    assert f"{STATE} = {THEIRS}  (not trusted)" in listed
    assert f"{PROGRESS} = {THEIRS}  (not trusted)" in listed
    assert holdfast("trust").code == 4, "no agent trusts them"
    seen = does("trust")
    assert seen.code == 0, seen.screen
    said(hook("Stop", session_id="s1"))
    assert len(linear.on(THEIRS)) == 1
    assert "not followed" not in holdfast("status").out
    set_state(**LOOP, linearIssue="ENG-67")
    assert f"{STATE} came with the repository and is not followed" in " ".join(
        holdfast("status").out.split()
    )
    holdfast("checkpoint", "--task", "mine", "--session", "s1")
    assert linear.on("ENG-67") == []


def test_a_file_that_git_does_not_track_is_mine(
    repository: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    set_state(**LOOP, linearIssue="ENG-12", awaitingGate=2)
    said(hook("Stop", session_id="s1"))
    assert len(linear.on("ENG-12")) == 1
    assert "not followed" not in holdfast("status").out


def test_an_issue_that_i_name_is_followed_in_a_tracked_progress_file(
    repository: Path, git: Git, holdfast: Holdfast, linear: FakeLinear
) -> None:
    """A team that commits its progress is asked nothing."""
    holdfast("checkpoint", *WORK)
    came_with_a_clone(git, PROGRESS)
    holdfast("checkpoint", "--status", "later")
    assert [what for what, _ in linear.writes] == ["create", "update"]
    assert "not followed" not in holdfast("status").out


def test_a_link_in_the_place_of_a_progress_file_holds_no_resume_up(
    repository: Path, git: Git, holdfast: Holdfast
) -> None:
    PROGRESS.symlink_to("nowhere")
    came_with_a_clone(git, PROGRESS)
    assert "There is nothing to resume here." in holdfast("resume").err
    assert holdfast("note", "mine").code == 0
    done = holdfast("resume")
    assert "cannot be read" not in done.err
