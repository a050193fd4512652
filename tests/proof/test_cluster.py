"""A run on a cluster under siege: workers, scheduler and runner are killed, in any order, for minutes.

HOLDFAST_PROOF_SECONDS is how long (150 unless told), HOLDFAST_PROOF_SEED which kills.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plans.kills import waves_in_order
from tests.plans.world import World, auto
from tests.processes import wait_for

pytestmark = pytest.mark.proof

SECONDS = float(os.environ.get("HOLDFAST_PROOF_SECONDS", "150"))
SEED = int(os.environ.get("HOLDFAST_PROOF_SEED", "11"))
TASKS, WAVES, TASKS_A_PLAN, WORKERS = 300, 6, 5, 3
WORK = 'echo "begin $HOLDFAST_TASK $$" >> {log}; sleep {seconds}; echo "end $HOLDFAST_TASK $$" >> {log}'
# With kills all the time, a task takes about this long on average; so the work lasts as long as the siege.
SHARE = 3.0


class Siege:
    """Dask's own commands, each a process that somebody starts again when it is gone."""

    def __init__(self, folder: Path, world: World) -> None:
        self._folder = folder
        self._world = world
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.runner_ends = Counter[int]()

    def look_after(self) -> None:
        """What a service manager does: start again what has ended."""
        for name in ("scheduler", *(f"worker-{number}" for number in range(WORKERS)), "runner"):
            process = self.processes.get(name)
            if process is not None and process.poll() is None:
                continue
            if process is not None and name == "runner":
                self.runner_ends[process.returncode] += 1
                if process.returncode == 0:
                    continue
            self.processes[name] = self._start(name)

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        dask = [sys.executable, "-m", "dask"]
        if name == "scheduler":
            where = ("--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard")
            words = [*dask, "scheduler", *where]
        elif name == "runner":
            on = ("--on", self.address, "--jobs", "6", "--json")
            words = [sys.executable, "-m", "holdfast", "plan", "resume", self._world.id, *on]
        else:
            # Without a nanny: it would be a second one who starts workers again.
            options = ("--no-nanny", "--nthreads", "2", "--no-dashboard", "--name", name)
            words = [*dask, "worker", self.address, *options, "--death-timeout", "20"]
        folder = self._folder if name != "runner" else self._world.root
        with open(self._folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, cwd=folder, env=_environment())

    def kill(self, name: str) -> bool:
        process = self.processes.get(name)
        if process is None or process.poll() is not None:
            return False
        process.kill()
        process.wait()
        return True

    @property
    def is_done(self) -> bool:
        return self._world.state()["status"] == "done"

    def close(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "HOLDFAST_ACTOR": "tester"}


@pytest.fixture
def world(repository: Path) -> Iterator[World]:
    made = World(repository)
    yield made
    made.close()


def test_three_hundred_tasks_while_everybody_is_killed(world: World, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    plans = TASKS // TASKS_A_PLAN
    work = auto(WORK.format(log=world.log, seconds=SECONDS / TASKS * SHARE))
    for number in range(plans):
        world.plan(f"1/{number:02d}", work * TASKS_A_PLAN, wave=number * WAVES // plans + 1)
    world.log.touch()
    world.begin(jobs=6)
    siege = Siege(tmp_path, world)
    killed = Counter[str]()
    try:
        siege.look_after()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not siege.is_done:
            time.sleep(0.5 + chance.random() * 4)
            kinds = ["worker"] * 6 + ["runner"] * 3 + ["scheduler"] * 2
            kind = chance.choice(kinds)
            name = f"worker-{chance.randrange(WORKERS)}" if kind == "worker" else kind
            killed[kind] += siege.kill(name)
            siege.look_after()
        print(f"\nseed {SEED}: {dict(killed)} killed; {len(world.done())} of {TASKS} done by then")
        while not siege.is_done:
            siege.look_after()
            before = world.log.stat().st_size
            deadline = time.monotonic() + 300
            while world.log.stat().st_size == before and not siege.is_done:
                assert time.monotonic() < deadline, "nothing moves any more"
                siege.look_after()
                time.sleep(0.2)
        runner = siege.processes["runner"]
        wait_for(lambda: runner.poll() is not None)
    finally:
        siege.close()
    print(f"runners ended with {dict(siege.runner_ends)}, one with {runner.returncode}")
    assert set(siege.runner_ends) <= {-9, 75}, "killed, or there was no scheduler to begin with"
    assert all(killed[kind] for kind in ("worker", "runner", "scheduler")), "take another seed"
    _check(world)


def _check(world: World) -> None:
    assert world.state()["status"] == "done"
    accepted = Counter(world.done())
    assert set(accepted.values()) == {1}, "each accepted once"
    assert len(accepted) == TASKS, "and none left out"
    waves_in_order(world)
    ended = {line.split()[1] for line in world.log.read_text().splitlines() if "end" in line}
    assert ended == set(accepted), "every task was run to its end"
    wait_for(lambda: world.orphans() == [])
