"""Fail forward: each step is really made to fail, and the others run."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import crash
from holdfast.session import tracker_step
from tests.conftest import Git
from tests.session import world
from tests.session.conftest import Break
from tests.session.world import PROGRESS, WORK, Holdfast
from tests.trackers import faults
from tests.trackers.fake_linear import FakeLinear

NAMES = ["Persist progress", "Git snapshot", "Linear update", "Continuation prompt"]
BOX = "║  CONTINUATION PROMPT                             ║"


@pytest.mark.clause("CCC-04", "CCC-08", "CCC-26", "CCC-63", "AMB-CCC-24")
def test_the_first_step_fails_and_the_others_run(
    project: Path, holdfast: Holdfast, linear: FakeLinear, blocked_view: Break, git: Git
) -> None:
    holdfast("checkpoint", *WORK)
    (old,) = re.findall(r"^\*\*Session:\*\* (.*)$", PROGRESS.read_text("utf-8"), re.MULTILINE)
    blocked_view()
    (project / "a.py").write_text("two\n")
    time.sleep(1.1)  # so that another timestamp would be seen
    answer = holdfast("checkpoint", "--status", "nearly", "--file", "a.py")
    lines = answer.out.splitlines()
    assert lines[0].startswith("Warning: Persist progress: ")
    assert f"Warning: Step 1 failed; this prompt is of {old}" in lines
    assert BOX in lines
    assert "Current task: task 2 of 3" in answer.out
    assert git("log", "-1", "--format=%s").startswith("wip(ENG-12): checkpoint — task 2 of 3")
    assert [kind for kind, _ in linear.writes] == ["create", "update"]
    assert lines[-2] == "Checkpoint complete: 3/4 steps succeeded."
    assert re.fullmatch(
        r"Failed: Persist progress \(.+\) — progress not written to \.ccc-progress\.md\.", lines[-1]
    )


@pytest.mark.clause("CCC-04", "CCC-37", "CCC-63")
def test_the_second_step_fails_and_the_others_run(
    project: Path, holdfast: Holdfast, linear: FakeLinear, no_git: Break
) -> None:
    no_git()
    answer = holdfast("checkpoint", *WORK)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert "Warning: Git snapshot: There is no `git` on this machine's PATH" in lines
    assert lines[-2:] == [
        "Checkpoint complete: 3/4 steps succeeded.",
        "Failed: Git snapshot (There is no `git` on this machine's PATH) — changes not committed.",
    ]
    assert PROGRESS.exists()
    assert len(linear.comments) == 1
    assert BOX in lines


@pytest.mark.clause("CCC-04", "CCC-63")
def test_the_third_step_fails_and_the_others_run(
    project: Path, holdfast: Holdfast, linear: FakeLinear, git: Git
) -> None:
    linear.fail(faults.status(503))
    (project / "a.py").write_text("two\n")
    answer = holdfast("checkpoint", *WORK, "--file", "a.py")
    lines = answer.out.splitlines()
    assert "Warning: Linear update: HTTP 503" in lines
    assert git("log", "-1", "--format=%s").startswith("wip(ENG-12)")
    assert BOX in lines
    assert PROGRESS.exists()


@pytest.mark.clause("CCC-04", "CCC-57", "CCC-63", "AMB-CCC-19")
def test_the_fourth_step_fails_and_gives_the_template(
    project: Path, holdfast: Holdfast, linear: FakeLinear, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver = tracker_step.deliver_now

    def deliver_and_lose(*words: Any, **named: Any) -> Any:
        PROGRESS.unlink()
        return deliver(*words, **named)

    monkeypatch.setattr(tracker_step, "deliver_now", deliver_and_lose)
    answer = holdfast("checkpoint", *WORK)
    assert "Warning: .ccc-progress.md cannot be read" in answer.out
    assert (
        "\n\nResume ENG-12. Current task: unknown. Key files: see git status.\n"
        "Next action: re-read the issue and git log, then continue.\n\n"
        "Copy this prompt into your next session's first message.\n"
    ) in answer.out
    assert answer.out.splitlines()[-2:] == [
        "Checkpoint complete: 3/4 steps succeeded.",
        "Failed: Continuation prompt (.ccc-progress.md cannot be read) — "
        "generic template printed instead.",
    ]
    assert len(linear.comments) == 1


@pytest.mark.clause("CCC-04")
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_even_a_bug_in_a_step_stays_in_it(
    project: Path,
    holdfast: Holdfast,
    linear: FakeLinear,
    number: int,
) -> None:
    def break_down() -> None:
        raise RuntimeError("what nobody thought of")

    take_back = crash.register(f"before {NAMES[number]}", break_down)
    try:
        lines = holdfast("checkpoint", *WORK).out.splitlines()
    finally:
        take_back()
    failed = [line for line in lines if line.startswith("Failed: ")]
    # Without a progress file there is no prompt to print either.
    assert len(failed) == (2 if number == 0 else 1), "the other steps ran"
    assert f"Warning: {NAMES[number]}: what nobody thought of" in lines
    assert any(
        line.startswith(f"Failed: {NAMES[number]} (what nobody thought of) — ") for line in lines
    )


@pytest.mark.clause("CCC-61", "AMB-CCC-06")
def test_every_step_that_failed_is_named(
    project: Path, holdfast: Holdfast, linear: FakeLinear, no_git: Break
) -> None:
    linear.fail(faults.status(503))
    no_git()
    lines = holdfast("checkpoint", *WORK).out.splitlines()
    assert lines[-3:] == [
        "Checkpoint complete: 2/4 steps succeeded.",
        "Failed: Git snapshot (There is no `git` on this machine's PATH) — changes not committed.",
        "Failed: Linear update (HTTP 503) — status not persisted to issue tracker.",
    ]


@pytest.mark.clause("CCC-26", "CCC-61", "CCC-57")
def test_a_folder_in_the_place_of_the_file(
    project: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    PROGRESS.mkdir()
    (PROGRESS / "kept").write_text("somebody's\n")
    answer = holdfast("checkpoint", *WORK)
    lines = answer.out.splitlines()
    assert lines[-3] == "Checkpoint complete: 2/4 steps succeeded."
    assert lines[-2].startswith("Failed: Persist progress (")
    assert lines[-1].startswith("Failed: Continuation prompt (")
    assert "Resume ENG-12. Current task: unknown. Key files: see git status." in lines
    assert len(linear.comments) == 1
    assert (PROGRESS / "kept").read_text() == "somebody's\n"


@pytest.mark.clause("AMB-CCC-02")
def test_the_denominator_is_what_the_profile_runs(
    project: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    linear.fail(faults.status(503), times=2)
    assert "Checkpoint complete: 3/4 steps succeeded." in holdfast("checkpoint", *WORK).out
    automated = holdfast("checkpoint", "--auto", "--session", "another", *WORK)
    assert "Checkpoint complete: 1/2 steps succeeded." in automated.out


@pytest.mark.clause("CCC-67", "AMB-CCC-13")
def test_a_damaged_state_file_fails_the_third_step_only(
    project: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    world.STATE.write_text('{"activeTaskFiles": ["a.py"')
    (project / "a.py").write_text("two\n")
    answer = holdfast("checkpoint", *WORK[:-2])
    lines = answer.out.splitlines()
    assert (
        "Git snapshot skipped — no files in scope: give --file, or activeTaskFiles in .ccc-state.json."
        in lines
    )
    assert lines[-2] == "Checkpoint complete: 3/4 steps succeeded."
    assert lines[-1].startswith("Failed: Linear update (.ccc-state.json is damaged: ")
    assert lines[-1].endswith(") — status not persisted to issue tracker.")
    assert world.STATE.read_text() == '{"activeTaskFiles": ["a.py"'
    assert PROGRESS.exists()


@pytest.mark.clause("CCC-04")
def test_a_damaged_journal_fails_step_one_alone(project: Path, holdfast: Holdfast) -> None:
    """Whatever the journal says, the work is committed and the prompt is printed."""
    holdfast("checkpoint", "--issue", "CIA-1", "--next", "go on")
    for name in ("journal.db-wal", "journal.db-shm"):
        Path(".git/holdfast", name).unlink(missing_ok=True)
    Path(".git/holdfast/journal.db").write_bytes(b"garbage" * 999)
    answer = holdfast("checkpoint", "--json")
    assert answer.code == 1, "nothing was kept"
    assert answer.envelope["ok"] is False
    assert answer.envelope["error"]["kind"] == "not_kept"
    assert "damaged" in answer.envelope["error"]["message"]
    first, second, _, fourth = answer.data["steps"]
    assert first["status"] == "failed"
    assert "damaged" in first["message"]
    assert second["status"] != "failed"
    assert fourth["status"] == "ok"
    assert "Resume CIA-1." in answer.data["prompt"]


def test_a_record_whose_file_cannot_be_written_is_called_safe(
    project: Path, holdfast: Holdfast, blocked_view: Break
) -> None:
    blocked_view()
    answer = holdfast("checkpoint", "--task", "Renderer", "--next", "draw lines", "--json")
    assert answer.code == 1
    assert answer.envelope["error"]["kind"] == "not_written"
    assert ".ccc-progress.md was not written" in answer.envelope["error"]["message"]
    assert "The record is safe." in answer.envelope["error"]["message"]
    assert "draw lines" in holdfast("resume", "--json").data["pack"]


def test_a_file_in_scope_that_is_not_there_is_named(project: Path, holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", "--task", "Renderer", "--file", "nosuch.py")
    assert "warning: nosuch.py is in scope, but there is no such file." in answer.err


def test_a_work_tree_that_was_not_committed_is_kept_and_the_command_named(
    project: Path, holdfast: Holdfast
) -> None:
    (project / "a.py").write_text("two\n")
    answer = holdfast("checkpoint", "--task", "Renderer")
    (kept,) = [line for line in answer.out.splitlines() if line.startswith("The work tree is kept")]
    assert holdfast(*kept.partition(": holdfast ")[2].split()).code == 0
