"""The four steps: their order, their profiles, and what they start from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.session import checkpoint as operation
from holdfast.session.checkpoint import checkpoint
from holdfast.session.rules import prompt
from tests.conftest import Git
from tests.session import world
from tests.session.conftest import Calls
from tests.session.world import PROGRESS, WORK, Answer, Holdfast, set_state
from tests.trackers.fake_linear import FakeLinear
from tests.trackers.fake_server import Reply
from tests.trackers.fake_server import Request as Asked

if TYPE_CHECKING:
    from holdfast.session.checkpoint import Request

NAMES = ["Persist progress", "Git snapshot", "Linear update", "Continuation prompt"]
BOX = "║  CONTINUATION PROMPT                             ║"


def statuses(answer: Answer) -> dict[str, str]:
    return {step["name"]: step["status"] for step in answer.data["steps"]}


def listing(folder: Path) -> set[str]:
    """Everything in a work tree but git's and the tool's own store."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.relative_to(folder).parts[0] not in (".git", ".holdfast")
    }


def captured(holdfast: Holdfast) -> list[dict[str, Any]]:
    """The checkpoints in the history, newest first."""
    records = holdfast("history", "--kind", "captured", "--json").data["records"]
    return [record["body"] for record in records]


@pytest.mark.clause("CCC-01")
def test_the_steps_come_in_their_order(
    project: Path,
    holdfast: Holdfast,
    linear: FakeLinear,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, bool]] = []
    answer, draw_box = linear.answer, prompt.draw_box
    before = int(git("rev-list", "--count", "HEAD", at=project))

    def made_commits() -> int:
        return int(git("rev-list", "--count", "HEAD", at=project)) - before

    def asked(request: Asked) -> Reply:
        seen.append(("tracker", PROGRESS.exists() and made_commits() == 1))
        return answer(request)

    def shown(text: str) -> str:
        seen.append(("prompt", bool(linear.comments)))
        return draw_box(text)

    monkeypatch.setattr(linear, "answer", asked)
    monkeypatch.setattr(operation, "draw_box", shown)
    (project / "a.py").write_text("two\n")
    done = holdfast("checkpoint", *WORK, "--file", "a.py", "--json")
    assert [step["name"] for step in done.data["steps"]] == NAMES
    assert set(statuses(done).values()) == {"ok"}
    assert [step for step, _ in seen] == ["tracker"] * (len(seen) - 1) + ["prompt"]
    assert all(others_were_done for _, others_were_done in seen)
    assert made_commits() == 1


@pytest.mark.clause("CCC-01", "CCC-12")
def test_the_progress_is_written_before_git_commits(project: Path, holdfast: Holdfast) -> None:
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ncp {PROGRESS} seen.md\n")
    hook.chmod(0o755)
    (project / "a.py").write_text("two\n")
    holdfast("checkpoint", *WORK, "--file", "a.py")
    assert "Write the parser — half done" in Path("seen.md").read_text("utf-8")


@pytest.mark.clause("CCC-02")
@pytest.mark.parametrize("reason", ["session-split", "context-threshold", "handoff"])
def test_the_boundary_is_recorded(project: Path, holdfast: Holdfast, reason: str) -> None:
    answer = holdfast("checkpoint", "--reason", reason, "--json")
    assert answer.data["reason"] == reason
    assert captured(holdfast)[0]["reason"] == reason


@pytest.mark.clause("CCC-02")
def test_there_is_no_fourth_boundary(project: Path, holdfast: Holdfast) -> None:
    assert holdfast("checkpoint", "--reason", "boredom").code == 2
    assert listing(project) == {"README.md", "a.py", "b.py", "name with spaces.py"}


@pytest.mark.clause("CCC-03", "CCC-66")
def test_both_entry_points_choose_their_profile(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", "--json")
    assert answer.data["profile"] == "manual"
    assert len(answer.data["steps"]) == 4
    world.said(world.hook("Stop"))
    assert [body["profile"] for body in captured(holdfast)] == ["automated", "manual"]


@pytest.mark.clause("CCC-06", "CCC-62")
def test_the_manual_profile_runs_all_four(
    project: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    (project / "a.py").write_text("two\n")
    answer = holdfast("checkpoint", *WORK, "--file", "a.py", "--json")
    assert statuses(answer) == dict.fromkeys(NAMES, "ok")


@pytest.mark.clause("CCC-07", "CCC-28", "CCC-54", "CCC-62")
def test_the_automated_profile_runs_the_first_and_the_third(
    project: Path, holdfast: Holdfast, linear: FakeLinear, calls: Calls
) -> None:
    (project / "a.py").write_text("two\n")
    set_state(activeTaskFiles=["a.py"], linearIssue="ENG-12")
    printed = holdfast("checkpoint", "--auto", "--task", "Write the parser", "--next", "go on")
    assert calls == []
    assert printed.out == "Checkpoint complete: 2/2 steps succeeded.\n"
    assert len(linear.comments) == 1
    answer = holdfast("checkpoint", "--auto", "--json")
    assert [step["name"] for step in answer.data["steps"]] == [NAMES[0], NAMES[2]]
    assert "╔" not in printed.out + printed.err


@pytest.mark.clause("CCC-62")
@pytest.mark.parametrize(
    ("profile", "ran"),
    [([], [True, True, True, True]), (["--auto"], [True, False, True, False])],
    ids=["manual", "automated"],
)
def test_the_profile_matrix(
    project: Path, holdfast: Holdfast, linear: FakeLinear, profile: list[str], ran: list[bool]
) -> None:
    (project / "a.py").write_text("two\n")
    set_state(activeTaskFiles=["a.py"], linearIssue="ENG-12")
    text = holdfast("checkpoint", *profile).out
    log = (project / ".git/logs/HEAD").read_text()
    assert [
        PROGRESS.exists(),
        "checkpoint — task" in log,
        len(linear.comments) == 1,
        BOX in text,
    ] == ran


@pytest.mark.clause("CCC-05", "AMB-CCC-03")
def test_a_step_with_nothing_to_do_is_skipped_and_counts(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", "--json")
    skips = [step for step in answer.data["steps"] if step["status"] == "skipped"]
    assert [step["name"] for step in skips] == ["Git snapshot", "Linear update"]
    assert all(step["message"] for step in skips)
    assert answer.data["report"] == "Checkpoint complete: 4/4 steps succeeded."


@pytest.mark.clause("AMB-CCC-03")
def test_explicit_skips_count_and_say_so(
    project: Path, holdfast: Holdfast, linear: FakeLinear, git: Git
) -> None:
    (project / "a.py").write_text("two\n")
    head = git("rev-parse", "HEAD")
    answer = holdfast("checkpoint", *WORK, "--file", "a.py", "--skip-git", "--skip-linear")
    lines = answer.out.splitlines()
    assert lines[0] == "Git snapshot skipped (--skip-git)."
    assert lines[1] == "Linear update skipped (--skip-linear)."
    assert lines[-1] == "Checkpoint complete: 4/4 steps succeeded."
    assert git("rev-parse", "HEAD") == head
    assert linear.requests == []
    assert "Linear update skipped (--skip-tracker)." in holdfast("checkpoint", "--skip-tracker").out


@pytest.mark.clause("CCC-09")
def test_there_is_a_single_artifact(project: Path, holdfast: Holdfast, linear: FakeLinear) -> None:
    before = listing(project)
    for status in ("begun", "done"):
        assert holdfast("checkpoint", *WORK, "--status", status).code == 0
        assert listing(project) - before == {".ccc-progress.md", ".ccc-state.json"}
    assert before <= listing(project)


@pytest.mark.clause("CCC-09")
def test_without_a_tracker_it_is_one_file(project: Path, holdfast: Holdfast) -> None:
    before = listing(project)
    for words in ((), ("--auto",), ()):
        holdfast("checkpoint", "--issue", "CIA-7", *words)
    assert listing(project) - before == {".ccc-progress.md"}


@pytest.mark.clause("CCC-10")
def test_the_automated_profile_never_asks(
    project: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise AssertionError("nobody may be asked")

    (project / "a.py").write_text("two\n")
    request: Request = {"profile": "automated", "reason": "handoff"}
    result = checkpoint(discover(), request, actor="t", now=clock.now(), ask=refuse)
    assert result["report"] == "Checkpoint complete: 2/2 steps succeeded."
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(click, "prompt", refuse)
    answer = holdfast("checkpoint", "--auto")
    assert answer.out.endswith("Checkpoint complete: 2/2 steps succeeded.\n")
    assert "**Issue:** unknown issue — untitled" in PROGRESS.read_text("utf-8")


@pytest.mark.clause("CCC-11", "CCC-12")
@pytest.mark.parametrize("profile", [[], ["--auto"]], ids=["manual", "automated"])
def test_the_progress_is_written_in_both_profiles(
    project: Path, holdfast: Holdfast, profile: list[str]
) -> None:
    for status in ("begun", "half done"):
        holdfast("checkpoint", *profile, "--issue", "CIA-7", "--task", "It", "--status", status)
        assert f"- It — {status}\n" in PROGRESS.read_text("utf-8")


@pytest.mark.clause("AMB-CCC-14")
@pytest.mark.parametrize(
    ("state", "branch", "words", "issue", "questions"),
    [
        ({}, "main", [], "CIA-1", 1),
        ({}, "fix-CIA-2-dates", [], "CIA-2", 0),
        ({"activeIssue": "CIA-3"}, "fix-CIA-2-dates", [], "CIA-3", 0),
        ({"activeIssue": "CIA-3", "linearIssue": "CIA-4"}, "main", [], "CIA-4", 0),
        ({"linearIssue": "CIA-4"}, "main", ["--issue", "#5"], "#5", 0),
    ],
    ids=["a person", "branch", "activeIssue", "linearIssue", "given"],
)
def test_where_the_issue_comes_from(
    project: Path,
    holdfast: Holdfast,
    git: Git,
    linear: FakeLinear,
    terminal: Callable[..., list[str]],
    state: dict[str, object],
    branch: str,
    words: list[str],
    issue: str,
    questions: int,
) -> None:
    git("checkout", "--quiet", "-B", branch, at=project)
    set_state(**state)
    asked = terminal("CIA-1")
    holdfast("checkpoint", "--skip-git", "--skip-tracker", *words)
    assert f"**Issue:** {issue} — untitled\n" in PROGRESS.read_text("utf-8")
    question = "Which issue should this checkpoint be associated with?"
    assert asked == [question] * questions


@pytest.mark.clause("AMB-CCC-14")
@pytest.mark.parametrize(
    ("branch", "issue"),
    [
        ("feature/CIA-12-parse", "CIA-12"),
        ("CIA-12", "CIA-12"),
        ("someone_ENG-7_x", "ENG-7"),
        ("cia-12", "unknown issue"),
        ("release-2-1", "unknown issue"),
    ],
)
def test_the_issue_in_a_branch_name(
    project: Path, holdfast: Holdfast, git: Git, branch: str, issue: str
) -> None:
    git("checkout", "--quiet", "-b", branch, at=project)
    holdfast("checkpoint", "--auto")
    assert f"**Issue:** {issue} — untitled\n" in PROGRESS.read_text("utf-8")


@pytest.mark.clause("AMB-CCC-14")
def test_without_a_tracker_no_issue_is_asked_for(
    project: Path, holdfast: Holdfast, terminal: Callable[..., list[str]], git: Git
) -> None:
    asked = terminal("CIA-1")
    (project / "a.py").write_text("two\n")
    answer = holdfast("checkpoint", "--task", "It", "--next", "begin", "--file", "a.py", "--strict")
    assert (answer.code, asked) == (0, [])
    assert answer.err.startswith("note: .ccc-progress.md is new"), "and no warning"
    assert answer.err.count("\n") == 1
    assert git("log", "-1", "--format=%s") == "wip: checkpoint — task 1 of 1: It\n"


@pytest.mark.clause("AMB-CCC-14")
def test_who_named_no_issue_is_not_asked_again(
    project: Path, holdfast: Holdfast, linear: FakeLinear, terminal: Callable[..., list[str]]
) -> None:
    asked = terminal("", "CIA-1")
    for status in ("begun", "half", "done"):
        holdfast("checkpoint", "--skip-git", "--skip-tracker", "--task", "It", "--status", status)
    assert len(asked) == 1


@pytest.mark.clause("AMB-CCC-14")
def test_nobody_is_asked_twice(
    project: Path, holdfast: Holdfast, linear: FakeLinear, terminal: Callable[..., list[str]]
) -> None:
    asked = terminal("CIA-1")
    words = ("--task", "It", "--next", "begin", "--file", "a.py", "--strict")
    answer = holdfast("checkpoint", *words)
    assert answer.code == 0
    assert len(asked) == 1
    assert "**Issue:** CIA-1" not in answer.out, "only --dry-run shows the file"


@pytest.mark.clause("AMB-CCC-15")
def test_the_engine_counts_from_zero_and_people_from_one(
    project: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    set_state(linearIssue="ENG-12", taskIndex=2, totalTasks=7)
    answer = holdfast("checkpoint", "--json")
    assert answer.data["prompt"].startswith("Resume ENG-12. Current task: task 3 of 7. ")
    set_state(linearIssue="ENG-12", taskIndex=3, totalTasks=7)
    answer = holdfast("checkpoint", "--json")
    assert answer.data["prompt"].startswith("Resume ENG-12. Current task: task 4 of 7. ")


def test_a_dry_run_changes_nothing(
    project: Path, holdfast: Holdfast, linear: FakeLinear, git: Git
) -> None:
    (project / "a.py").write_text("two\n")
    before, head = world.every_byte_under(project), git("rev-parse", "HEAD")
    answer = holdfast("checkpoint", *WORK, "--file", "a.py", "--dry-run")
    assert answer.code == 0
    assert "- Write the parser — half done\n" in answer.out
    assert answer.out.endswith("Dry run: nothing was changed.\n")
    assert world.every_byte_under(project) == before
    assert git("rev-parse", "HEAD") == head
    assert linear.requests == []


def test_the_projects_root_of_ccc_is_honoured(
    project: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "packages" / "web"
    inner.mkdir(parents=True)
    (inner / ".ccc-state.json").write_text('{"linearIssue": "CIA-9"}')
    monkeypatch.setenv("CCC_PROJECT_ROOT", str(inner))
    answer = holdfast("checkpoint")
    assert not PROGRESS.exists()
    assert "**Issue:** CIA-9 — untitled" in (inner / PROGRESS).read_text("utf-8")
    assert answer.out.startswith("Git snapshot skipped — working tree clean.\n")
    assert "Resume CIA-9." in answer.out
    monkeypatch.setenv("CCC_PROJECT_ROOT", "/")
    outside = holdfast("checkpoint")
    assert outside.code != 0
    assert "outside of the workspace" in outside.err


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("execution:\n  default_mode: tdd\n", "tdd"),
        ("execution: [", "checkpoint"),
        ("just text", "checkpoint"),
        ("", "checkpoint"),
        ("execution:\n  default_mode:\n    - x\n  max_task_iterations: many\n", None),
        (f"execution:\n  default_mode: tdd\n  max_task_iterations: {'9' * 5000}\n", "tdd"),
    ],
)
def test_preferences_are_honoured_and_break_nothing(
    project: Path, holdfast: Holdfast, text: str, mode: str | None
) -> None:
    (project / ".ccc-preferences.yaml").write_text(text)
    answer = holdfast("checkpoint", "--issue", "CIA-7")
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")
    if mode:
        assert f"**Execution Mode:** exec:{mode}\n" in PROGRESS.read_text("utf-8")


def test_the_json_answer_has_what_programs_need(
    project: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    data = holdfast("checkpoint", *WORK, "--json").data
    assert {"id", "profile", "reason", "steps", "report", "prompt"} <= data.keys()
    for step in data["steps"]:
        assert {"name", "status", "message"} <= step.keys()
        assert step["status"] in ("ok", "skipped", "failed")
    assert data["prompt"] == world.PROMPT
