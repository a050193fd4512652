"""Kill -9 between any two steps, and two checkpoints at the same moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.session.rules import progress, report
from tests import warm
from tests.conftest import Git
from tests.dying import die_at
from tests.session.world import PATIENCE, PROGRESS, WORK, Holdfast, set_state
from tests.trackers.fake_linear import FakeLinear

# Each is the part of a checkpoint that is never reached; the last one has all steps behind it.
POINTS = (
    f"before {report.PERSIST}",
    f"before {report.SNAPSHOT}",
    "before snapshot",
    "before survey",
    f"before {report.TRACKER}",
    f"before {report.PROMPT}",
    "before result",
)


def commits(git: Git) -> list[str]:
    """The subjects of all checkpoints' commits."""
    subjects = git("log", "--format=%s").splitlines()
    return [subject for subject in subjects if subject.startswith("wip(")]


def captures(holdfast: Holdfast) -> int:
    return len(holdfast("history", "--kind", "captured", "--json").data["records"])


@pytest.mark.clause("CCC-04", "CCC-09", "CCC-27")
@pytest.mark.parametrize("point", POINTS)
def test_the_next_run_continues(
    project: Path, holdfast: Holdfast, linear: FakeLinear, git: Git, point: str
) -> None:
    (project / "a.py").write_text("two\n")
    set_state(activeTaskFiles=["a.py"])
    reached = POINTS.index(point)
    die_at(point, "checkpoint", *WORK[:-2])
    assert PROGRESS.exists() is (reached > POINTS.index(f"before {report.PERSIST}"))
    assert len(commits(git)) == (reached > POINTS.index(f"before {report.SNAPSHOT}"))
    assert len(linear.comments) == (reached > POINTS.index(f"before {report.TRACKER}"))
    answer = holdfast("checkpoint", *WORK[:-2])
    assert answer.out.endswith("Checkpoint complete: 4/4 steps succeeded.\n")
    first = answer.out.splitlines()[0]
    if reached > POINTS.index(f"before {report.SNAPSHOT}"):
        assert first == "Git snapshot skipped — working tree clean."
    else:
        assert first.startswith(f"Git snapshot {git('rev-parse', '--short=12', 'HEAD').strip()}")
    assert commits(git) == ["wip(ENG-12): checkpoint — task 2 of 3: Write the parser"]
    assert len(linear.comments) == 1
    assert captures(holdfast) == (2 if reached > POINTS.index(f"before {report.PERSIST}") else 1)
    assert progress.shortcomings(PROGRESS.read_text("utf-8")) == []
    assert progress.parse(PROGRESS.read_text("utf-8"))["completed"] == ["Read the issue"]


@pytest.mark.clause("CCC-04", "CCC-09")
@pytest.mark.parametrize(
    "where",
    [
        "after git commit",
        "after snapshot",
        "before storing the comment",
        "after storing the comment",
    ],
)
def test_in_the_middle_of_a_step_too(
    project: Path, holdfast: Holdfast, linear: FakeLinear, git: Git, where: str
) -> None:
    (project / "a.py").write_text("two\n")
    set_state(activeTaskFiles=["a.py"], taskIndex=1, totalTasks=3)
    die_at(where, "checkpoint", *WORK[:-2])
    assert len(commits(git)) == 1
    answer = holdfast("checkpoint", "--status", "going on")
    assert answer.out.startswith("Git snapshot skipped — working tree clean.\n")
    assert answer.code == 0
    holdfast("tracker", "sync")
    assert len(commits(git)) == 1
    assert len(linear.comments) == 1
    assert "- Write the parser — going on" in PROGRESS.read_text("utf-8")
    assert progress.shortcomings(PROGRESS.read_text("utf-8")) == []


@pytest.mark.parametrize("profile", [[], ["--auto"]], ids=["manual", "automated"])
def test_two_checkpoints_at_the_same_moment(
    project: Path, holdfast: Holdfast, linear: FakeLinear, profile: list[str]
) -> None:
    holdfast("checkpoint", *WORK, "--session", "shared")
    names = [f"writer {number}" for number in range(4)]
    running = [
        warm.start(
            [
                sys.executable,
                "-m",
                "holdfast",
                "checkpoint",
                *profile,
                "--session",
                "shared",
                "--done",
                name,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in running:
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert "Failed: Persist progress" not in out
    assert captures(holdfast) == 1 + len(names)
    read = progress.parse(PROGRESS.read_text("utf-8"))
    assert sorted(read["completed"]) == ["Read the issue", *names]
    assert progress.shortcomings(PROGRESS.read_text("utf-8")) == []
    assert len(linear.comments) == 1


def test_the_first_two_checkpoints_ever_at_the_same_moment(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    (project / "a.py").write_text("two\n")
    running = [
        warm.start(
            [
                sys.executable,
                "-m",
                "holdfast",
                "checkpoint",
                "--issue",
                "CIA-1",
                "--task",
                name,
                "--file",
                "a.py",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    for process in running:
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    records = holdfast("history", "--kind", "captured", "--json").data["records"]
    assert sorted(record["body"]["set"]["current"] for record in records) == ["one", "two"]
    assert progress.shortcomings(PROGRESS.read_text("utf-8")) == []
    assert len(commits(git)) == 1
    git("fsck", "--strict")
