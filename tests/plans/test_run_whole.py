"""What a run must not do by halves: begin unseen, run beside itself, or say what it did not write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel import clock, inbox
from holdfast.kernel.errors import Conflict, StoreAway
from holdfast.kernel.lock import WorkspaceLock
from holdfast.plans import runs
from tests import warm
from tests.plans.world import World, auto
from tests.processes import PATIENCE, wait_for

WAIT = "while ! test -e go; do sleep 0.02; done"


# Names


def test_waypoints_of_two_runs_in_one_second_are_two_files(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = clock.now()
    monkeypatch.setattr(clock, "now", lambda: at)
    world.plan("1/01", auto("false"))
    found = []
    for _ in range(3):
        world.begin(tries=1)
        found.append((world.halted(begin=False).waypoint, f"holdfast plan resume {world.id}"))
    assert len({path for path, _ in found}) == 3
    for path, resume in found:
        assert json.loads((world.root / path).read_text())["resume_command"] == resume


# One run of a plan at a time


def test_a_second_run_of_living_plans_is_refused_also_again(world: World) -> None:
    world.plan("1/01", auto(f"{world.note('begun')}; {WAIT}"))
    first = world.process("plan", "run", "plans", "--json")
    wait_for(lambda: world.noted() == ["begun"])
    code, answer, _ = world.holdfast("plan", "run", "plans", "--again")
    assert (code, answer["error"]["kind"]) == (5, "running")
    assert len(list(runs.every(world.workspace))) == 1, "none was begun"
    (world.root / "go").touch()
    first.communicate(timeout=PATIENCE)
    assert first.returncode == 0
    assert world.holdfast("plan", "run", "plans", "--again")[0] == 0, "it lives no more"


def test_an_old_run_is_not_resumed_beside_a_new_one_of_the_same_plans(world: World) -> None:
    world.plan("1/01", auto(f"{world.note('begun')}; {WAIT}"))
    old = world.begin()
    new = world.begin()
    runner = world.process("plan", "resume", new, "--json")
    wait_for(lambda: world.noted() == ["begun"])
    world.id = old
    with pytest.raises(Conflict, match=new):
        world.run(begin=False)
    (world.root / "go").touch()
    runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 0


# Now or not at all


def test_a_run_that_could_not_be_begun_is_never_begun_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.plan("1/01", auto(world.note("ran")))
    acquire = WorkspaceLock.acquire

    def refuse(lock: WorkspaceLock, *meanwhile: Any) -> None:
        if lock._home == world.workspace.home:
            raise PermissionError(13, "Permission denied")
        acquire(lock, *meanwhile)

    with monkeypatch.context() as read_only:
        read_only.setattr(WorkspaceLock, "acquire", refuse)
        with pytest.raises(StoreAway) as away:
            world.begin()
    assert away.value.kind == "read_only"
    assert list(inbox.list_waiting(str(world.root))) == []
    assert list(runs.every(world.workspace)) == []


# Whoever reads


@pytest.mark.parametrize("options", ["--json", ""])
def test_a_reader_that_goes_away_does_not_end_a_run(world: World, options: str) -> None:
    world.plan("1/01", auto(f"{world.note('one')}; {WAIT}") + auto(world.note("two")))
    world.begin()
    command = f"{sys.executable} -m holdfast plan resume {world.id} {options} 2>&1"
    told = subprocess.run(
        # The reader is gone before the first task may end.
        ["/bin/sh", "-c", f"{command} | {{ head -n 1; exec <&-; touch go; }}"],
        cwd=world.root,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "Traceback" not in told.stderr
    assert world.state()["status"] == "done"
    assert world.noted() == ["one", "two"]


def test_a_full_disk_under_the_events_does_not_end_a_run(world: World) -> None:
    world.plan("1/01", auto(world.note("one")) + auto(world.note("two")))
    with open("/dev/full", "w") as full:
        run = warm.run(
            [sys.executable, "-m", "holdfast", "plan", "run", "plans", "--json"],
            cwd=world.root,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )
    assert run.stderr.startswith("warning: What happens cannot be printed: No space left")
    assert "Traceback" not in run.stderr
    assert world.noted() == ["one", "two"]


# Files


def test_files_that_could_not_be_written_are_said_and_not_called_saved(world: World) -> None:
    """A file stands where the folder of the waypoints would be."""
    world.plan("1/01", auto("true"))
    (world.root / ".autopilot").mkdir()
    (world.root / ".autopilot/waypoints").write_text("no folder")
    (world.root / ".autopilot/phases").write_text("no folder")
    state = world.run()
    assert state["status"] == "done"
    said = world.told("unwritten")
    assert any(text.startswith(".autopilot/waypoints/phase-complete-") for text in said)
    assert any(text.startswith(".autopilot/phases/001/LOGBOOK.md was not") for text in said)
    assert all(text.endswith("The record is safe.") for text in said)
    assert world.told("phase") == [""]


def test_a_link_out_of_the_worktree_is_refused_before_anything_runs(
    world: World, tmp_path: Path
) -> None:
    world.plan("1/01", auto(world.note("ran")))
    (tmp_path / "outside").mkdir()
    (world.root / ".autopilot").mkdir()
    os.symlink(tmp_path / "outside", world.root / ".autopilot/waypoints")
    code, answer, _ = world.holdfast("plan", "run", "plans")
    assert (code, answer["error"]["kind"]) == (4, "outside_workspace")
    assert world.noted() == []
    assert list(runs.every(world.workspace)) == []
