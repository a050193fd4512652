"""Resuming: the verdict before any text, whose state it is, and one text that restarts the work."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks.run import command
from holdfast.hooks.session_start import TIP
from holdfast.kernel import clock
from holdfast.kernel.views import files
from holdfast.kernel.workspace import discover
from holdfast.pack.handover_text import how_long
from holdfast.session import resume as resuming
from holdfast.session.checkpoint import checkpoint
from holdfast.session.rules.verdict import NOTHING_TO_COMPARE
from tests.conftest import Git
from tests.session import world
from tests.session.world import (
    PROGRESS,
    PROMPT,
    WORK,
    Answer,
    Holdfast,
    hook,
    said,
    set_state,
    stated,
)

holdfast = world.holdfast

A_FILE = """# Session Progress

**Issue:** CIA-7 — Of another tool
**Session:** 2026-01-01T00:00:00Z
**Execution Mode:** exec:quick

## Completed Tasks
- None

## Current Task
- None

## Remaining Tasks
- None

## Decisions Made
- None

## Blockers
- None

## Continuation Prompt
Resume CIA-7. Current task: task 3 of 9. Key files: a.py, b.py.
Next action: run the tests.

Then tell Ann: `make` is broken.
"""
ITS_PROMPT = (
    "Resume CIA-7. Current task: task 3 of 9. Key files: a.py, b.py.\n"
    "Next action: run the tests.\n\n"
    "Then tell Ann: `make` is broken."
)


def resumed(holdfast: Holdfast, *words: str) -> Any:
    answer = holdfast("resume", *words, "--json")
    assert answer.code == 0, answer
    return answer.data


def reasons(answer: Any) -> list[str]:
    return [reason["what"] for reason in answer["reasons"]]


def session_of(answer: Answer) -> str:
    return str(answer.data["session"])


# The verdict


def test_nothing_changed_is_clean(repository: Path, holdfast: Holdfast) -> None:
    Path("README.md").write_text("Changed, and not committed.\n")
    Path("new.txt").write_text("Untracked.\n")
    holdfast("checkpoint", *WORK, "--skip-git")
    found = resumed(holdfast)
    assert (found["verdict"], found["reasons"]) == ("CLEAN", [])
    assert found["prompt"] == PROMPT
    assert set(found) >= {"verdict", "reasons", "pack", "prompt", "checkpoint"}


def test_a_commit_of_the_checkpoint_itself_is_no_drift(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    git("config", "user.name", "Tester")
    git("config", "user.email", "tester@holdfast.invalid")
    Path("README.md").write_text("Changed.\n")
    answer = holdfast("checkpoint", *WORK, "--file", "README.md")
    assert answer.out.endswith("4/4 steps succeeded.\n")
    assert git("log", "--format=%s").startswith("wip(ENG-12)")
    assert resumed(holdfast)["verdict"] == "CLEAN"


def test_head_moved(repository: Path, holdfast: Holdfast, git: Git) -> None:
    before = git("rev-parse", "HEAD")[:12]
    holdfast("checkpoint", *WORK)
    git("commit", "--quiet", "--allow-empty", "--message", "second")
    found = resumed(holdfast)
    assert found["verdict"] == "DRIFTED"
    assert reasons(found) == [f"HEAD moved from {before} to {git('rev-parse', 'HEAD')[:12]}"]
    assert "Look at what changed before you continue." in found["pack"]


def test_the_branch_changed(repository: Path, holdfast: Holdfast, git: Git) -> None:
    holdfast("checkpoint", *WORK)
    git("switch", "--quiet", "--create", "other")
    found = resumed(holdfast)
    assert found["verdict"] == "DRIFTED"
    assert reasons(found) == ["branch was main, is other"]


@pytest.mark.parametrize("dirty_before", [False, True])
def test_a_file_changed(repository: Path, holdfast: Holdfast, dirty_before: bool) -> None:
    if dirty_before:
        Path("README.md").write_text("One.\n")
    holdfast("checkpoint", *WORK, "--skip-git")
    Path("README.md").write_text("Two.\n")
    found = resumed(holdfast)
    assert found["verdict"] == "DRIFTED"
    assert reasons(found) == ["changed since: README.md"]


def test_a_probe_says_something_else_by_now(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--claim", "It is described", "file:README.md")
    assert resumed(holdfast)["verdict"] == "CLEAN"
    Path("README.md").unlink()
    assert "[verified] It is described" in resumed(holdfast)["pack"]
    found = resumed(holdfast, "--recheck")
    assert found["verdict"] == "DRIFTED"
    assert '"It is described": was verified, is unverified' in reasons(found)
    assert "[unverified] It is described" in found["pack"]


@pytest.mark.parametrize(("hours", "verdict"), [(24, "CLEAN"), (25, "STALE")])
def test_older_than_the_setting_is_stale(
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
    verdict: str,
) -> None:
    holdfast("checkpoint", *WORK)
    later = clock.now() + hours * clock.HOUR - clock.MINUTE
    monkeypatch.setattr(clock, "now", lambda: later)
    found = resumed(holdfast)
    assert found["verdict"] == verdict
    monkeypatch.setenv("HOLDFAST_SESSION_STALE_HOURS", "1")
    found = resumed(holdfast)
    assert found["verdict"] == "STALE"
    assert reasons(found) == [f"captured {hours - 1} hours ago"]


def test_all_reasons_are_listed_and_the_gravest_is_the_verdict(
    repository: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("checkpoint", *WORK, "--claim", "It is described", "file:README.md")
    git("switch", "--quiet", "--create", "other")
    Path("README.md").unlink()
    git("commit", "--quiet", "--allow-empty", "--message", "second")
    later = clock.now() + 50 * clock.HOUR
    monkeypatch.setattr(clock, "now", lambda: later)
    found = resumed(holdfast, "--issue", "ENG-99", "--accept-foreign")
    assert found["verdict"] == "FOREIGN"
    assert [reason["verdict"] for reason in found["reasons"]] == [
        "FOREIGN",
        *["DRIFTED"] * 3,
        "STALE",
    ]
    shown = holdfast("resume", "--issue", "ENG-99", "--accept-foreign").out
    assert shown.startswith("Holdfast: FOREIGN. ")
    assert "\n## What is not as it was\n- another issue: ENG-12, not ENG-99\n" in shown
    for what in reasons(found):
        assert shown.count(f"- {what}\n") == 1
        assert f"- {what}\n" in found["pack"]
    drifted = resumed(holdfast, "--recheck")
    assert drifted["verdict"] == "DRIFTED"
    assert [reason["verdict"] for reason in drifted["reasons"]] == [*["DRIFTED"] * 4, "STALE"]


def test_what_an_automated_checkpoint_did_not_look_at_is_unknown(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK, "--auto")
    Path("README.md").write_text("Changed, who knows when.\n")
    found = resumed(holdfast)
    assert reasons(found) == ["nobody looked whether the work tree changed"]
    assert "nobody looked whether the work tree changed" in found["pack"]


# Foreign


def test_another_worktrees_session_is_refused(
    repository: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(holdfast("checkpoint", *WORK, "--json"))
    git("worktree", "add", "--quiet", "../other")
    monkeypatch.chdir("../other")
    answer = holdfast("resume", "--session", session, "--json")
    assert answer.code == 1
    assert answer.envelope["error"]["kind"] == "foreign"
    assert f"another worktree: {repository}" in answer.envelope["error"]["message"]
    assert PROMPT not in answer.out
    shown = holdfast("resume", "--session", session)
    assert (shown.code, shown.out) == (1, "")
    accepted = resumed(holdfast, "--session", session, "--accept-foreign")
    assert accepted["verdict"] == "FOREIGN"
    assert accepted["prompt"] == PROMPT
    assert "You were asked to continue it here" in accepted["pack"]


def test_another_worktree_is_not_resumed_by_itself(
    repository: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("checkpoint", *WORK)
    git("worktree", "add", "--quiet", "../other")
    monkeypatch.chdir("../other")
    answer = holdfast("resume", "--json")
    assert answer.code != 0
    assert answer.envelope["error"]["kind"] == "not_found"
    assert "--list" in answer.envelope["error"]["hint"]


def test_another_issue_is_refused_whoever_names_it(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK)
    answer = holdfast("resume", "--issue", "ENG-99", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (1, "foreign")
    set_state(linearIssue="ENG-99")
    answer = holdfast("resume", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (1, "foreign")
    assert resumed(holdfast, "--accept-foreign")["verdict"] == "FOREIGN"


def test_the_probes_of_a_foreign_session_are_not_run(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--claim", "It leaves a trace", "run:touch trace")
    Path("trace").unlink()
    assert holdfast("resume", "--issue", "ENG-99").code == 1
    assert not Path("trace").exists()


# A file that no record knows


@pytest.mark.clause("CCC-64", "CCC-25", "AMB-CCC-26")
def test_go_reads_the_section_of_a_file_that_no_record_knows(
    repository: Path, holdfast: Holdfast
) -> None:
    PROGRESS.write_text(A_FILE, "utf-8")
    for verb in ("go", "resume"):
        assert holdfast(verb, "--prompt-only").out == f"{ITS_PROMPT}\n"
        found = holdfast(verb, "--json").data
        assert found["prompt"] == ITS_PROMPT
        assert found["verdict"] == "CLEAN"
        assert reasons(found) == [NOTHING_TO_COMPARE]
    assert PROGRESS.read_text("utf-8") == A_FILE


@pytest.mark.clause("CCC-64", "CCC-25")
def test_go_yields_what_the_checkpoint_wrote(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK)
    section = PROGRESS.read_text("utf-8").partition("## Continuation Prompt\n")[2].rstrip("\n")
    assert holdfast("go", "--prompt-only").out == f"{section}\n"
    assert section == PROMPT


@pytest.mark.clause("CCC-25", "CCC-64")
def test_go_yields_what_a_person_wrote_into_the_file_since(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK)
    edited = PROGRESS.read_text("utf-8").replace("finish parse_date", "ask Ann first")
    PROGRESS.write_text(edited, "utf-8")
    assert "Next action: ask Ann first." in holdfast("go", "--prompt-only").out


def test_nothing_at_all_and_a_broken_file_are_said(repository: Path, holdfast: Holdfast) -> None:
    answer = holdfast("resume")
    assert answer.code != 0
    assert "There is nothing to resume here." in answer.err
    PROGRESS.write_text("no heading\n")
    answer = holdfast("go")
    assert answer.code == 1
    assert "cannot be read" in answer.err


# Which session


def test_listing_and_a_prefix_of_an_id(repository: Path, holdfast: Holdfast) -> None:
    for name in ("alpha-one", "alpha-two", "beta"):
        holdfast("checkpoint", *WORK, "--session", name, "--next", f"the work of {name}")
    listed = resumed(holdfast, "--list")["sessions"]
    assert [one["session"] for one in listed] == ["beta", "alpha-two", "alpha-one"]
    shown = holdfast("resume", "--list").out
    for word in ("alpha-one", "saved", "ENG-12"):
        assert word in shown
    assert "the work of beta" in resumed(holdfast, "--session", "b")["prompt"]
    assert "the work of alpha-one" in resumed(holdfast, "--session", "alpha-one")["prompt"]
    for prefix in ("alpha", "gamma"):
        answer = holdfast("resume", "--session", prefix, "--json")
        assert answer.envelope["error"]["kind"] == "not_found"
        assert "--list" in answer.envelope["error"]["hint"]


def test_an_id_that_begins_another_is_not_ambiguous(repository: Path, holdfast: Holdfast) -> None:
    for name in ("alpha", "alpha-two"):
        holdfast("checkpoint", *WORK, "--session", name, "--next", f"the work of {name}")
    assert "the work of alpha." in resumed(holdfast, "--session", "alpha")["prompt"]


def test_an_empty_list(repository: Path, holdfast: Holdfast) -> None:
    assert "no checkpoint" in holdfast("resume", "--list").out


# Adoption


def started(session: str, source: str = "startup") -> str:
    """The context that a session starts with."""
    answer = said(hook("SessionStart", f"SessionStart.{source}", session_id=session))
    if not answer:
        return ""
    given = answer["hookSpecificOutput"]
    assert given["hookEventName"] == "SessionStart"
    return str(given["additionalContext"])


def end(session: str) -> None:
    said(hook("SessionEnd", "SessionEnd.other", session_id=session))


@pytest.mark.clause("CCC-03")
def test_a_new_session_takes_the_ended_one_over(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    end("first")
    assert stated(PROMPT) in started("second")
    said(hook("Stop", session_id="second"))
    by_name = {one["session"]: one for one in resumed(holdfast, "--list")["sessions"]}
    assert by_name["first"]["adopted_by"] == "second"
    assert by_name["second"]["adopts"] == "first"
    assert by_name["second"]["progress"]["completed"] == ["Read the issue"]
    assert by_name["second"]["progress"]["prompt"] == PROMPT
    assert "taken over" in holdfast("resume", "--list").out


def test_the_key_files_outlive_the_session_too(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    end("first")
    started("second")
    said(hook("Stop", session_id="second"))
    assert PROMPT in PROGRESS.read_text("utf-8")


def test_one_winner_of_two_that_start_at_once(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    end("first")
    starting = []
    for name in ("left", "right"):
        process = subprocess.Popen(
            command("claude", "SessionStart"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        starting.append((name, process))
    for name, process in starting:
        payload = {"session_id": name, "cwd": str(repository), "source": "startup"}
        assert process.stdin is not None
        process.stdin.write(json.dumps(payload).encode())
    for _, process in starting:
        assert process.stdin is not None
        process.stdin.close()
    given = {}
    for name, process in starting:
        assert process.stdout is not None
        given[name] = process.stdout.read()
        process.stdout.close()
        assert process.wait(timeout=world.PATIENCE) == 0
    with_pack = [name for name, answer in given.items() if b"finish parse_date" in answer]
    (first,) = resumed(holdfast, "--list")["sessions"]
    assert with_pack == [first["adopted_by"]]


def test_a_third_session_gets_nothing_of_what_was_taken_over(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    end("first")
    assert stated(PROMPT) in started("second")
    assert started("third") == TIP


def test_the_command_line_inside_the_new_session_resumes_what_it_took_over(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    end("first")
    started("second")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "second")
    assert resumed(holdfast)["session"] == "first"


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_after_resume_and_compact_it_is_the_same_sessions(
    repository: Path, holdfast: Holdfast, source: str
) -> None:
    holdfast("checkpoint", *WORK, "--session", "first")
    holdfast("checkpoint", *WORK, "--session", "other", "--next", "something else")
    end("other")
    assert stated(PROMPT) in started("first", source)
    (other,) = [one for one in resumed(holdfast, "--list")["sessions"] if one["session"] == "other"]
    assert other["adopted_by"] == ""


def test_a_session_that_was_killed_is_not_emptied_by_the_next(
    repository: Path, holdfast: Holdfast
) -> None:
    """No SessionEnd came. What the file says is kept when nothing else is given."""
    holdfast("checkpoint", *WORK, "--session", "first", "--decision", "No regex: too slow")
    assert stated(PROMPT) in started("second")
    said(hook("Stop", session_id="second"))
    text = PROGRESS.read_text("utf-8")
    assert "- Read the issue ✓" in text
    assert "- No regex: too slow" in text
    assert PROMPT in text


@pytest.mark.parametrize("how", ["spec", "tasks"])
def test_a_plan_that_changed_is_drift(repository: Path, holdfast: Holdfast, how: str) -> None:
    Path("plan.md").write_text("one\ntwo\n", encoding="utf-8")
    state = {"linearIssue": "ENG-12", "specPath": "plan.md", "totalTasks": 2}
    Path(".ccc-state.json").write_text(json.dumps(state), encoding="utf-8")
    holdfast("checkpoint", "--auto")
    assert holdfast("resume", "--json").data["verdict"] == "UNKNOWN", "nobody looked"
    if how == "spec":
        Path("plan.md").write_text("one\nthree\n", encoding="utf-8")
    else:
        Path(".ccc-state.json").write_text(json.dumps({**state, "totalTasks": 3}), encoding="utf-8")
    found = holdfast("resume", "--json").data
    assert found["verdict"] == "DRIFTED"
    assert any("the plan changed" in reason["what"] for reason in found["reasons"])


def test_a_file_that_another_session_just_wrote_is_not_this_ones(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen with twenty sessions in one worktree: one was given another's prompt as its own edit."""
    assert holdfast("checkpoint", *WORK, "--session", "one", "--next", "the work of one").code == 0
    read = files.read_file

    def read_a_moment_later(path: str) -> tuple[str, bytes]:
        monkeypatch.setattr(resuming, "read_file", read)
        holdfast("checkpoint", *WORK, "--session", "two", "--next", "the work of two")
        return read(path)

    monkeypatch.setattr(resuming, "read_file", read_a_moment_later)
    assert "Next action: the work of one." in resumed(holdfast, "--session", "one")["prompt"]
    assert "Next action: the work of two." in (repository / PROGRESS).read_text()


def test_a_progress_file_that_was_broken_by_hand_is_named(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", *WORK)
    Path(".ccc-progress.md").write_text("<<<<<<< HEAD\n")
    why = ".ccc-progress.md cannot be read: the first line is not `# Session Progress`"
    found = resumed(holdfast)
    assert found["verdict"] == "DRIFTED"
    assert any(reason.startswith(why) for reason in reasons(found))
    assert why in found["pack"]
    assert why in holdfast("status").out
    holdfast("checkpoint", "--status", "further")
    assert resumed(holdfast)["verdict"] == "CLEAN"
    assert why not in holdfast("status").out


# Clocks


def capture(session: str, task: str, *, now: int) -> None:
    request: Any = {
        "profile": "manual",
        "reason": "",
        "session": session,
        "given": {"current": task},
        "files": [],
        "claims": [],
        "skip_git": True,
        "skip_tracker": "--skip-tracker",
        "require_verified": False,
        "strict": False,
        "dry_run": False,
    }
    checkpoint(discover(), request, actor="tester", now=now, ask=None)


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("ahead", [9 * clock.HOUR, 70 * 365 * clock.DAY])
def test_a_checkpoint_from_the_future_hides_no_later_one(holdfast: Holdfast, ahead: int) -> None:
    """Order comes from the journal: a machine's clock may have been hours or decades ahead."""
    capture("s1", "of a wrong clock", now=clock.now() + ahead)
    capture("s2", "of the right clock", now=clock.now())
    resumed = holdfast("resume").out
    assert "Session s2" in resumed
    assert "of the right clock" in resumed
    listed = holdfast("resume", "--list", "--json").data["sessions"]
    assert [one["session"] for one in listed] == ["s2", "s1"]
    assert listed[0]["ahead"] == 0
    assert ahead - clock.MINUTE < listed[1]["ahead"] <= ahead
    said = holdfast("resume", "--list").out
    assert f"its clock is {how_long(listed[1]['ahead'])} ahead" in said
    streams = holdfast("status", "--json").data["streams"]
    assert [one["stream"] for one in streams] == ["session:s2", "session:s1"]


def test_files_that_holdfast_writes_are_neither_drift_nor_key_files(
    project: Path, holdfast: Holdfast
) -> None:
    assert holdfast("agent", "start", "Secondary-A", "--feature", "f1").code == 0
    assert "agent_" not in holdfast("checkpoint", "--task", "Renderer").out
    assert holdfast("agent", "beat", "Secondary-A", "--step", "reads").code == 0
    track = project / "conductor/tracks/build"
    track.mkdir(parents=True)
    (track / "metadata.json").write_text("{}\n")
    assert holdfast("resume", "--json").data["verdict"] == "CLEAN"
    (track / "plan.md").write_text("- [ ] Draw lines\n")
    found = holdfast("resume", "--json").data
    assert [reason["what"] for reason in found["reasons"]] == [
        "changed since: conductor/tracks/build/plan.md"
    ]
