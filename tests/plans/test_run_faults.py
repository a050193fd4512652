"""Faults of the machine under a run: kill -9, a full disk, a store that cannot be written, a clock that
steps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.budgets.check import Budget
from holdfast.clients.claude import sessions as claude
from holdfast.kernel import clock
from holdfast.plans.screen import screen
from tests.conftest import Git
from tests.plans.kills import killed_at_random
from tests.plans.world import HOLDFAST, World, auto

SMALL = "3m"


def _mount(*words: str) -> None:
    if os.geteuid() or subprocess.run(["mount", *words], capture_output=True).returncode:
        pytest.skip("Nothing can be mounted here: a run on a full disk was NOT tried.")


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository on a file system of its own, of three megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={SMALL}", "none", str(folder))
    try:
        root = Path(os.path.realpath(folder))
        git("init", "--quiet", at=root)
        git("commit", "--quiet", "--allow-empty", "--message", "first", at=root)
        monkeypatch.chdir(root)
        world = World(root)
        yield world
        world.close()
    finally:
        os.chdir(tmp_path)
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


# To the last page, and no free page in the journal's log either: the next record has nowhere to go.
FILL = """
import sys, apsw
for _ in apsw.Connection(sys.argv[1]).execute("PRAGMA wal_checkpoint(TRUNCATE)"):
    pass
with open("fill", "wb", buffering=0) as file:
    for size in (65536, 4096, 1):
        try:
            while file.write(bytes(size)) == size:
                pass
        except OSError:
            pass
"""


def test_a_disk_that_fills_up_ends_the_run_and_nothing_accepted_is_lost(
    small_disk: World, tmp_path: Path
) -> None:
    world = small_disk
    script = tmp_path / "fill.py"
    script.write_text(FILL)
    journal = Path(world.workspace.home, "journal.db")
    fill = f"test -e fill || {sys.executable} {script} {journal}"
    body = (
        auto(world.note("one")) + auto(f"{world.note('two')}; {fill}") + auto(world.note("three"))
    )
    world.plan("1/01", body)
    world.begin()
    code, answer, _ = world.holdfast("plan", "resume", world.id)
    assert (code, answer["error"]["kind"]) == (75, "disk_full")
    assert answer["error"]["hint"] == "Free some space and run the same command again."
    assert world.done() == ["1/01#1"], "the second ran, and its record has no room"
    assert world.orphans() == []

    (world.root / "fill").write_bytes(b"")
    code, answer, err = world.holdfast("plan", "resume", world.id)
    assert (code, answer["data"]["done"]) == (0, 3), err
    assert world.done() == ["1/01#1", "1/01#2", "1/01#3"]
    assert world.noted() == ["one", "two", "two", "three"], "what was accepted does not run again"


# A store that cannot be written


@pytest.fixture
def read_only(world: World) -> Iterator[World]:
    """The journal's own folder is read-only, also for root; the work tree is not."""
    world.plan("1/01", auto(world.note("ran")))
    world.begin()
    home = world.workspace.home
    _mount("--bind", home, home)
    try:
        _mount("-o", "remount,bind,ro", home)
        yield world
    finally:
        subprocess.run(["umount", "--lazy", home], check=True)


def test_where_the_journal_cannot_be_written_nothing_is_run_and_nothing_is_lost(
    read_only: World,
) -> None:
    world = read_only
    for words in (("resume", world.id), ("run", "plans"), ("run", "plans", "--again")):
        code, answer, _ = world.holdfast("plan", *words)
        assert (code, answer["error"]["kind"]) == (75, "read_only")
        assert answer["error"]["hint"]
    assert world.noted() == []
    assert world.holdfast("plan", "show", world.id)[0] == 0, "reading needs no right to write"
    subprocess.run(["umount", "--lazy", world.workspace.home], check=True)
    try:
        assert world.holdfast("plan", "resume", world.id)[0] == 0
        assert world.noted() == ["ran"]
    finally:
        _mount("--bind", world.workspace.home, world.workspace.home)


# A clock that steps


@pytest.fixture
def stepping(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The runner's clock is off by what the file `step` says, in milliseconds."""
    real, step = clock.now, world.root / "step"
    step.write_text("0")
    monkeypatch.setattr(clock, "now", lambda: real() + int(step.read_text() or "0"))
    return world


@pytest.mark.parametrize("steps", [(-1, 9), (9, -1)])
def test_a_clock_that_steps_harms_no_wave_no_time_and_no_budget(
    stepping: World, steps: tuple[int, int]
) -> None:
    world = stepping
    back, forward = (auto(f"echo {hours * clock.HOUR} > step") for hours in steps)
    world.plan("1/01", auto(world.note("one")) + back + auto(world.note("two")))
    world.plan("1/02", auto(world.note("three")) + forward + auto(world.note("four")), wave=2)
    state = world.run()
    assert state["status"] == "done"
    assert world.noted() == ["one", "two", "three", "four"]
    seconds = [
        task["seconds"] for plan in state["plans"].values() for task in plan["tasks"].values()
    ]
    assert len(seconds) == 6
    assert min(seconds) >= 0
    assert max(seconds) < clock.HOUR / 1000, "how long it took, not what the clock says"
    assert Budget(world.workspace, actor="t").state()["stopped"] is None
    shown = "\n".join(screen(state, now=clock.now()))
    assert re.search(r"-\d+:", shown) is None, "no time below nothing"


@pytest.mark.parametrize("hours", [-1, 9])
def test_a_stop_is_seen_although_the_clock_has_stepped(stepping: World, hours: int) -> None:
    world = stepping
    report = auto(f"{HOLDFAST} guard report --add-cost 60 --json")
    step = auto(f"echo {hours * clock.HOUR} > step")
    world.plan("1/01", auto("true") + step + report + auto(world.note("never")))
    assert world.halted().exit_code == 7
    assert world.noted() == []


def test_a_session_counts_that_wrote_after_the_clock_was_set_back(stepping: World) -> None:
    """Its files say that they are older than the run."""
    world = stepping
    world.plan("1/01", auto("true"))
    world.begin()
    spent = world.runner().budget.spending
    spent.measure(Budget(world.workspace, actor="t").state())
    (world.root / "step").write_text(str(-clock.HOUR))
    transcript = Path(claude.folder_of(str(world.root))) / "late.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text("{}\n")
    os.utime(transcript, (clock.now() / 1000 + 1,) * 2)
    spent._looked = float("-inf")
    spent.measure(Budget(world.workspace, actor="t").state())
    assert list(spent._sessions) == ["late"]


# Kill -9; the full size is in tests/proof


def test_a_run_whose_runner_and_workers_are_killed_finishes_all_the_same(world: World) -> None:
    killed_at_random(world, tasks=40, waves=3, kills=8, seed=8)
