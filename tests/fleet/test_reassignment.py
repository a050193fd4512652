"""A feature is reassigned while the Primary lives, and the new session goes on in a new worktree."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast.fleet.current_life import record_activity
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.fleet.world import FEATURE, PRIMARY, A, C, Scene


class Fleet:
    """The Primary in the repository, Secondary-A in a worktree with unfinished work, and two programs."""

    def __init__(self, scene: Scene, git: Git, holdfast: Holdfast) -> None:
        self.holdfast = holdfast
        self.primary = scene.root
        self.old, self.new = (scene.root.parent / name for name in ("old", "new"))
        for root in (self.old, self.new):
            git("worktree", "add", "--quiet", str(root), at=scene.root)
        self.run("start", PRIMARY, "--feature", "feature_01")
        self.run("start", A, "--feature", FEATURE, at=self.old)
        (self.old / "unfinished.md").write_text("half a page\n", "utf-8")
        self.run("beat", A, "--file", str(self.old / "unfinished.md"), "--step", "S", at=self.old)

    def run(self, *words: str, at: Path | None = None, code: int = 0) -> str:
        answer = self.holdfast("agent", *words, "-C", str(at or self.primary))
        assert answer.code == code, answer.err
        return answer.out if code == 0 else answer.err


@pytest.fixture
def fleet(scene: Scene, git: Git, holdfast: Holdfast) -> Fleet:
    return Fleet(scene, git, holdfast)


@pytest.fixture
def programs() -> Iterator[list[str]]:
    """The process ids of two programs that run until the test is over."""
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as one,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other,
    ):
        yield [str(one.pid), str(other.pid)]
        one.kill()
        other.kill()


@pytest.mark.matrix
@pytest.mark.clause("FLEET-66", "FLEET-71")
@pytest.mark.parametrize("how", ["handoff", "resume", "start"])
@pytest.mark.parametrize("decision", ["takeover", "restart"])
def test_the_first_session_to_start_a_reassigned_agent_is_it(
    fleet: Fleet, programs: list[str], monkeypatch: pytest.MonkeyPatch, decision: str, how: str
) -> None:
    monkeypatch.setenv("HOLDFAST_AGENT_PID", programs[0])
    if decision == "takeover":
        taker, source = C, ["--from", A]
        fleet.run("takeover", A, "--by", C, "--yes")
    else:
        taker, source = A, []
        fleet.run("restart", A, "--yes")
    text = fleet.run("handoff", taker, *source)
    listed = fleet.run("list")
    assert "no session has started it yet" in listed
    assert f"holdfast agent handoff {taker}" in listed

    monkeypatch.setenv("HOLDFAST_AGENT_PID", programs[1])
    if how == "handoff":
        stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", stdin)
        fleet.run("start", "--handoff", "-", at=fleet.new)
    elif how == "resume":
        fleet.run("resume", taker, at=fleet.new)
    else:
        fleet.run("start", taker, "--feature", FEATURE, at=fleet.new)
    fleet.run("beat", taker, "--step", "Here", at=fleet.new)
    assert "no session" not in fleet.run("list")

    # Its program runs: the next session to try is refused, with a command that exists.
    monkeypatch.setenv("HOLDFAST_AGENT_PID", programs[0])
    refused = fleet.run("resume", taker, code=5)
    assert f"{taker} is alive: its process {programs[1]} still runs." in refused
    assert f"holdfast agent resume {taker} --yes" in refused


def test_one_agent_has_one_file_however_it_was_started(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = fleet.run("handoff", "Secondary-B", "--feature", "feature_03")
    assert f"Epic Path: {fleet.primary}" in text
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    fleet.run("start", "--handoff", "-", at=fleet.new)
    kept, copy = (
        root / "agent_checkpoints" / "secondary_b.json" for root in (fleet.primary, fleet.new)
    )
    assert kept.read_bytes() == copy.read_bytes(), "the agent's own worktree keeps a copy"


@pytest.mark.clause("FLEET-62")
def test_the_unfinished_work_is_brought_over(fleet: Fleet) -> None:
    fleet.run("takeover", A, "--by", C, "--yes")
    told = fleet.run("resume", C, at=fleet.new)
    assert "Reading unfinished.md... not here" in told
    assert f"Worked in: {fleet.old}" in told
    command = next(line for line in told.splitlines() if "snapshot restore" in line).split()
    answer = fleet.holdfast(*command[1:], "-C", str(fleet.new))
    assert answer.code == 0, answer.err
    assert (fleet.new / "unfinished.md").read_text("utf-8") == "half a page\n"
    assert "Reading unfinished.md...\n" in fleet.run("resume", C, at=fleet.new)


def test_the_same_agent_in_another_worktree_finds_its_work_too(fleet: Fleet) -> None:
    told = fleet.run("resume", A, "--yes", at=fleet.new)
    assert f"Worked in: {fleet.old}" in told
    assert "holdfast snapshot restore --changed" in told


def test_what_the_primary_absorbs_is_where_it_says(fleet: Fleet) -> None:
    told = fleet.run("absorb", A, "--yes")
    archive = next(line for line in told.splitlines() if line.startswith("Archived: "))[10:]
    assert os.path.isfile(fleet.primary / archive)
    listed = fleet.run("resume", PRIMARY, "--yes")
    step = next(line for line in listed.splitlines() if f"Resume {FEATURE} from " in line)
    assert os.path.isfile(fleet.primary / step.rpartition(" from ")[2])
    assert f"Worked in: {fleet.old}" in told


def test_a_primary_that_reassigned_an_agent_is_not_told_to_stop(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, scene: Scene
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "primary-session")
    fleet.run("takeover", A, "--by", C, "--yes")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "new-session")
    fleet.run("resume", C, at=fleet.new)
    now = scene.agent(C).context.now
    assert C not in record_activity(scene.workspace, "primary-session", now)
