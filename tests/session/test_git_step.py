"""Step 2: a commit of exactly the tracked files in scope, in real repositories."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.session.checkpoint import checkpoint
from holdfast.session.git_step import QUESTION
from tests.conftest import Git
from tests.session import world
from tests.session.conftest import Break, Calls
from tests.session.world import PROGRESS, WORK, Holdfast, set_state
from tests.trackers.fake_linear import FakeLinear

CLEAN = "Git snapshot skipped — working tree clean."
NOTHING = "Git snapshot skipped — nothing to stage."
NO_SCOPE = (
    "Git snapshot skipped — no files in scope: give --file, or activeTaskFiles in .ccc-state.json."
)
TASK = ("--issue", "CIA-7", "--task", "Parse dates", "--remaining", "Docs")
MESSAGE = "wip(CIA-7): checkpoint — task 1 of 2: Parse dates"


def change(*names: str) -> None:
    for name in names:
        Path(name).write_text("two\n")


def committed(git: Git) -> list[str]:
    """The files of the last commit."""
    words = ("-c", "core.quotepath=off", "show", "--format=", "--name-only", "-z")
    return sorted(name for name in git(*words).split("\0") if name)


def count(git: Git) -> int:
    return int(git("rev-list", "--count", "HEAD"))


def second_line(answer: world.Answer) -> str:
    """What the report's last line says beneath the counts."""
    return answer.out.splitlines()[-1]


@pytest.fixture
def hook(project: Path) -> Callable[[str, str], None]:
    """`hook("pre-commit", "exit 1")`: a git hook of the user's."""

    def install(name: str, script: str) -> None:
        path = project / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return install


@pytest.mark.clause("CCC-29")
def test_it_begins_with_the_status(project: Path, calls: Calls) -> None:
    from holdfast.git.commit import commit_files

    change("a.py")
    commit_files(str(project), ["a.py"], "message", "id")
    first = calls[0]
    assert first[first.index("status") : first.index("status") + 2] == ["status", "--porcelain"]


@pytest.mark.clause("CCC-29")
def test_nothing_is_changed_before_the_status(
    project: Path, holdfast: Holdfast, calls: Calls
) -> None:
    change("a.py")
    holdfast("checkpoint", *TASK, "--file", "a.py")
    assert "status" in calls[0]
    assert "--porcelain" in calls[0]


def test_a_commit_is_named_by_a_command_that_knows_it(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    change("a.py")
    first = holdfast("checkpoint", *TASK, "--file", "a.py").out.splitlines()[0]
    program, *words = first.partition(" is a commit: ")[2].split()
    assert program == "git"
    assert "a.py" in git(*words, "--stat")


@pytest.mark.clause("CCC-30", "AMB-CCC-10", "CCC-05")
def test_a_clean_tree_says_so_and_goes_on(
    project: Path, holdfast: Holdfast, linear: FakeLinear, git: Git
) -> None:
    before = count(git)
    answer = holdfast("checkpoint", *WORK)
    assert answer.out.splitlines()[0] == CLEAN
    assert answer.out.count("Git snapshot skipped") == 1
    assert len(linear.comments) == 1
    assert count(git) == before
    assert second_line(answer) == "Checkpoint complete: 4/4 steps succeeded."


@pytest.mark.clause("CCC-30")
def test_the_whole_output_of_a_clean_checkpoint(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", *WORK, "--skip-tracker")
    assert answer.out == (
        f"{CLEAN}\n"
        "Linear update skipped (--skip-tracker).\n"
        "╔══════════════════════════════════════════════════╗\n"
        "║  CONTINUATION PROMPT                             ║\n"
        "╚══════════════════════════════════════════════════╝\n"
        "\n"
        f"{world.PROMPT}\n"
        "\n"
        "Copy this prompt into your next session's first message.\n"
        "Skipped, and counted as succeeded: Git snapshot, Linear update.\n"
        "Checkpoint complete: 4/4 steps succeeded.\n"
    )


@pytest.mark.clause("AMB-CCC-10")
def test_the_control_files_never_count_as_dirty(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    set_state(linearIssue="CIA-7", activeTaskFiles=[".ccc-progress.md", ".ccc-state.json"])
    holdfast("checkpoint", "--status", "one")
    git("add", "--force", ".ccc-progress.md", ".ccc-state.json")
    git("commit", "--quiet", "--message", "somebody tracks them")
    before = count(git)
    assert holdfast("checkpoint", "--status", "two").out.startswith(f"{CLEAN}\n")
    assert count(git) == before


@pytest.mark.clause("CCC-31", "CCC-32", "CCC-34", "CCC-67", "AMB-CCC-01", "AMB-CCC-08")
def test_only_the_tracked_files_in_scope_are_committed(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    set_state(activeTaskFiles=["a.py", "new.py"])
    change("a.py", "b.py", "new.py")
    answer = holdfast("checkpoint", *TASK)
    assert committed(git) == ["a.py"]
    subject, *rest = git("log", "-1", "--format=%B").rstrip("\n").split("\n")
    assert subject == MESSAGE
    assert rest[0] == ""
    assert rest[1].startswith("Holdfast-Checkpoint: ")
    assert git("show", "HEAD:a.py") == "two\n"
    assert " M b.py\n" in git("status", "--porcelain")
    assert "?? new.py\n" in git("status", "--porcelain")
    assert "new.py is in scope but not tracked, so it was not committed." in answer.err
    assert second_line(answer) == "Checkpoint complete: 4/4 steps succeeded."


@pytest.mark.clause("CCC-34", "AMB-CCC-01")
def test_the_message_can_be_set_and_still_names_the_issue(
    project: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    change("a.py")
    template = "checkpoint({issue}): {task} ({number}/{total})"
    monkeypatch.setenv("HOLDFAST_SESSION_COMMIT_MESSAGE", template)
    holdfast("checkpoint", *TASK, "--file", "a.py")
    assert git("log", "-1", "--format=%s") == "checkpoint(CIA-7): Parse dates (1/2)\n"
    Path("a.py").write_text("three\n")
    monkeypatch.setenv("HOLDFAST_SESSION_COMMIT_MESSAGE", "Save the work")
    holdfast("checkpoint", "--file", "a.py")
    assert git("log", "-1", "--format=%s") == "Save the work (CIA-7)\n"


@pytest.mark.clause("CCC-34")
def test_a_message_that_cannot_be_made_is_a_failure_of_this_step(
    project: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    change("a.py")
    monkeypatch.setenv("HOLDFAST_SESSION_COMMIT_MESSAGE", "{nobody}")
    answer = holdfast("checkpoint", *TASK, "--file", "a.py")
    assert "Checkpoint complete: 3/4 steps succeeded." in answer.out
    assert second_line(answer).startswith("Failed: Git snapshot (")


@pytest.mark.clause("CCC-38", "AMB-CCC-09", "CCC-32")
def test_everything_else_stays_as_it_was(project: Path, holdfast: Holdfast, git: Git) -> None:
    for name in ("staged.py", "both.py", "gone.py", "moved.py"):
        Path(name).write_text(f"the content of {name}\n")
    git("add", "staged.py", "both.py", "gone.py", "moved.py")
    git("commit", "--quiet", "--message", "more files")
    Path("staged.py").write_text("staged\n")
    Path("both.py").write_text("staged\n")
    Path("added.py").write_text("added\n")
    git("add", "staged.py", "both.py", "added.py")
    git("mv", "moved.py", "moved to.py")
    Path("both.py").write_text("and changed again\n")
    Path("gone.py").unlink()
    Path("untracked.py").write_text("untracked\n")
    change("a.py")

    def others() -> tuple[list[str], str, str]:
        status = git("status", "--porcelain").splitlines()
        index = git("ls-files", "--stage", "--", ":!a.py")
        kept = "".join(Path(name).read_text() for name in ("both.py", "untracked.py"))
        return [line for line in status if not line.endswith(" a.py")], index, kept

    before = others()
    holdfast("checkpoint", *TASK, "--file", "a.py")
    status, index, kept = others()
    assert [line for line in status if ".ccc-progress.md" not in line] == before[0]
    assert (index, kept) == before[1:]
    assert committed(git) == ["a.py"]


@pytest.mark.clause("CCC-38", "AMB-CCC-09")
def test_what_was_staged_of_a_file_in_scope_goes_with_it(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    Path("a.py").write_text("staged\n")
    git("add", "a.py")
    Path("a.py").write_text("and on\n")
    holdfast("checkpoint", *TASK, "--file", "a.py")
    assert git("show", "HEAD:a.py") == "and on\n"
    assert " a.py" not in git("status", "--porcelain")


@pytest.mark.clause("AMB-CCC-08")
def test_a_file_in_scope_that_was_deleted_is_committed(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    Path("a.py").unlink()
    holdfast("checkpoint", *TASK, "--file", "a.py")
    assert git("show", "--format=", "--name-status") == "D\ta.py\n"


@pytest.mark.clause("CCC-32")
@pytest.mark.parametrize(
    "name",
    [
        "name with spaces.py",
        "grüße 🌍.py",
        ":(glob)*",
        'quo"te.py',
        "new\nline.py",
        "*.py",
        "$(touch pwned).py",
    ],
)
def test_names_are_taken_literally(project: Path, holdfast: Holdfast, git: Git, name: str) -> None:
    Path(name).write_text("one\n")
    git("--literal-pathspecs", "add", "--", name)
    git("commit", "--quiet", "--allow-empty", "--message", "a name")
    set_state(activeTaskFiles=[name])
    Path(name).write_text("two\n")
    change("b.py")
    holdfast("checkpoint", *TASK)
    assert committed(git) == [name]
    assert not Path("pwned").exists()


@pytest.mark.clause("CCC-31")
def test_a_folder_in_scope(project: Path, holdfast: Holdfast, git: Git) -> None:
    for name in ("src/one.py", "src/deep/two.py"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("one\n")
    git("add", "src")
    git("commit", "--quiet", "--message", "a folder")
    change("src/one.py", "src/deep/two.py", "src/new.py", "b.py")
    set_state(activeTaskFiles=["src/"])
    holdfast("checkpoint", *TASK)
    assert committed(git) == ["src/deep/two.py", "src/one.py"]


@pytest.mark.clause("CCC-33")
def test_never_everything(
    project: Path, holdfast: Holdfast, git: Git, calls: Calls, hook: Callable[[str, str], None]
) -> None:
    change("a.py", "b.py", "new.py")
    holdfast("checkpoint", *TASK)
    for files in ([], ["a.py"], ["new.py"], ["nowhere.py"]):
        set_state(activeTaskFiles=files)
        holdfast("checkpoint", "--status", str(files))
    hook("pre-commit", "exit 1")
    holdfast("checkpoint", "--file", "b.py")
    assert any("--only" in command for command in calls)
    for command in calls:
        assert "add" not in command
        assert not {"-A", "--all", "-u", "--update", "-a"}.intersection(command)
        if "--only" in command:
            named = command[command.index("--") + 1 :]
            assert named
            assert set(named) <= {"a.py", "b.py"}


@pytest.mark.clause("CCC-35", "AMB-CCC-04", "CCC-63")
def test_a_pre_commit_hook_says_no(
    project: Path,
    holdfast: Holdfast,
    linear: FakeLinear,
    git: Git,
    hook: Callable[[str, str], None],
) -> None:
    hook("pre-commit", "echo 'no tabs, please' >&2; exit 1")
    change("a.py")
    status = git("status", "--porcelain")
    answer = holdfast("checkpoint", *WORK, "--file", "a.py")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "Git snapshot skipped — pre-commit hook said no: no tabs, please"
    assert lines[-2:] == [
        "Checkpoint complete: 3/4 steps succeeded.",
        "Skipped: Git snapshot (pre-commit hook) — changes not committed.",
    ]
    assert len(linear.comments) == 1
    assert world.PROMPT.split("\n")[1] in lines
    now = [line for line in git("status", "--porcelain").splitlines() if ".ccc-" not in line]
    assert now == status.splitlines()
    data = holdfast("checkpoint", "--file", "a.py", "--json").data
    assert data["steps"][1]["status"] == "skipped"


@pytest.mark.clause("CCC-35")
def test_the_users_hooks_run(
    project: Path, holdfast: Holdfast, git: Git, hook: Callable[[str, str], None]
) -> None:
    hook("commit-msg", "echo 'ticket missing' >&2; exit 1")
    change("a.py")
    answer = holdfast("checkpoint", *TASK, "--file", "a.py")
    assert second_line(answer) == "Skipped: Git snapshot (commit-msg hook) — changes not committed."


@pytest.mark.clause("CCC-36", "CCC-05", "AMB-CCC-03", "AMB-CCC-08")
@pytest.mark.parametrize("scope", [["new.py"], ["README.md"], ["nowhere.py"]])
def test_nothing_to_stage(
    project: Path, holdfast: Holdfast, linear: FakeLinear, git: Git, scope: list[str]
) -> None:
    change("b.py", "new.py")
    before = count(git)
    set_state(activeTaskFiles=scope, linearIssue="ENG-12")
    answer = holdfast("checkpoint")
    assert NOTHING in answer.out.splitlines()
    assert count(git) == before
    assert second_line(answer) == "Checkpoint complete: 4/4 steps succeeded."
    assert len(linear.comments) == 1


@pytest.mark.clause("AMB-CCC-07", "CCC-36")
@pytest.mark.parametrize("state", [{}, {"activeTaskFiles": []}, {"activeTaskFiles": "a.py"}])
def test_without_a_scope_nothing_is_committed(
    project: Path, holdfast: Holdfast, git: Git, state: dict[str, object]
) -> None:
    change("a.py")
    before = count(git)
    set_state(**state)
    answer = holdfast("checkpoint", *TASK)
    assert NO_SCOPE in answer.out.splitlines()
    assert count(git) == before


@pytest.mark.clause("AMB-CCC-07", "CCC-67")
def test_on_a_terminal_a_person_is_asked(
    project: Path, holdfast: Holdfast, git: Git, terminal: Callable[..., list[str]]
) -> None:
    asked = terminal('a.py "name with spaces.py"')
    change("a.py", "b.py", "name with spaces.py")
    holdfast("checkpoint", *TASK)
    assert asked == [QUESTION]
    assert committed(git) == ["a.py", "name with spaces.py"]


def test_a_person_who_leaves_the_question_has_changed_nothing(
    project: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    change("a.py")
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)

    def leave(question: str, **_: object) -> str:
        raise click.Abort

    monkeypatch.setattr(click, "prompt", leave)
    before = count(git)
    assert holdfast("checkpoint", *TASK).code == 130
    assert count(git) == before
    assert not discover(str(project)).exists(), "nothing was recorded"
    assert not (project / ".ccc-progress.md").exists()


def test_a_mistyped_name_is_named(
    project: Path, holdfast: Holdfast, terminal: Callable[..., list[str]]
) -> None:
    terminal("nosuch.py")
    change("a.py")
    answer = holdfast("checkpoint", *TASK)
    assert "nosuch.py is in scope, but there is no such file." in answer.err


@pytest.mark.clause("AMB-CCC-07")
def test_no_answer_is_a_skip(
    project: Path, holdfast: Holdfast, git: Git, terminal: Callable[..., list[str]]
) -> None:
    asked = terminal("")
    change("a.py")
    before = count(git)
    assert NO_SCOPE in holdfast("checkpoint", *TASK).out
    assert len(asked) == 1
    assert count(git) == before


@pytest.mark.clause("AMB-CCC-07")
@pytest.mark.parametrize(
    ("words", "state", "dirty"),
    [
        (["--json"], {}, True),
        ([], {"activeTaskFiles": ["a.py"]}, True),
        ([], {}, False),
        (["--file", "a.py"], {}, True),
        (["--skip-git"], {}, True),
        (["--auto"], {}, True),
    ],
)
def test_nobody_is_asked_needlessly(
    project: Path,
    holdfast: Holdfast,
    terminal: Callable[..., list[str]],
    words: list[str],
    state: dict[str, object],
    dirty: bool,
) -> None:
    asked = terminal()
    set_state(**state)
    if dirty:
        change("a.py")
    assert holdfast("checkpoint", *TASK, *words).code == 0
    assert asked == []


@pytest.mark.clause("AMB-CCC-07")
def test_without_a_terminal_nobody_is_asked(
    project: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(question: str, **_: object) -> str:
        raise AssertionError(question)

    monkeypatch.setattr(click, "prompt", refuse)
    change("a.py")
    assert "4/4 steps succeeded." in holdfast("checkpoint").out


@pytest.mark.clause("CCC-37")
def test_without_git_it_is_a_warning(project: Path, holdfast: Holdfast, no_git: Break) -> None:
    change("a.py")
    no_git()
    answer = holdfast("checkpoint", *TASK, "--file", "a.py")
    assert answer.code == 0
    assert answer.out.startswith("Warning: Git snapshot: There is no `git`")
    assert PROGRESS.exists()


@pytest.mark.clause("CCC-37")
def test_outside_of_a_repository(
    tmp_path: Path, holdfast: Holdfast, linear: FakeLinear, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "holdfast.toml").write_text("")
    monkeypatch.chdir(folder)
    answer = holdfast("checkpoint", *WORK)
    assert answer.code == 0
    assert "Git snapshot skipped — no git repository." in answer.out.splitlines()
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")
    assert "git" not in answer.err.lower()
    assert len(linear.comments) == 1
    assert (folder / PROGRESS).exists()


@pytest.mark.clause("CCC-37")
def test_without_an_identity(project: Path, holdfast: Holdfast, git: Git) -> None:
    git("config", "--unset", "user.name")
    git("config", "--unset", "user.email")
    git("config", "user.useConfigOnly", "true")
    change("a.py")
    before = count(git)
    answer = holdfast("checkpoint", *TASK, "--file", "a.py")
    assert answer.code == 0
    assert "Checkpoint complete: 3/4 steps succeeded." in answer.out
    assert second_line(answer).startswith("Failed: Git snapshot (")
    assert count(git) == before
    assert world.PROGRESS.exists()


@pytest.mark.clause("CCC-37")
def test_an_index_that_somebody_else_holds(project: Path, holdfast: Holdfast, git: Git) -> None:
    change("a.py")
    (project / ".git/index.lock").touch()
    before = count(git)
    answer = holdfast("checkpoint", *TASK, "--file", "a.py")
    assert second_line(answer).startswith("Failed: Git snapshot (")
    assert count(git) == before


@pytest.mark.clause("CCC-37")
def test_a_scope_that_leaves_the_project(project: Path, holdfast: Holdfast, git: Git) -> None:
    change("a.py")
    set_state(activeTaskFiles=["../elsewhere.py", "a.py"], linearIssue="CIA-7")
    before = count(git)
    answer = holdfast("checkpoint")
    assert answer.code == 0
    assert "'../elsewhere.py' leaves the workspace" in second_line(answer)
    assert count(git) == before


@pytest.mark.clause("CCC-28")
def test_the_automated_profile_starts_no_git(
    project: Path,
    holdfast: Holdfast,
    calls: Calls,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change("a.py")
    set_state(activeTaskFiles=["a.py"], linearIssue="CIA-7")
    marker = world.fake_git(tmp_path / "fake", monkeypatch)
    assert holdfast("checkpoint", "--auto").code == 0
    assert calls == []
    assert not marker.exists(), "not even past the seam"


@pytest.mark.clause("CCC-30")
def test_what_is_committed_is_not_committed_again(project: Path, git: Git) -> None:
    before = count(git)
    for _ in range(2):
        change("a.py")
        checkpoint(
            discover(),
            {"profile": "manual", "reason": "handoff", "files": ["a.py"]},
            actor="tester",
            now=clock.now(),
        )
    assert count(git) == before + 1
