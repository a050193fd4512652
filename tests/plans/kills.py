"""A run whose runner and workers are killed at random instants, and what must be true at its end."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter

from holdfast.gates import lookup as gates
from tests import warm
from tests.plans.world import VERIFY, World, auto
from tests.processes import wait_for

# What a task does: it says that it begins, works a while, and says that it ends. A line is one write.
WORK = 'echo "begin $HOLDFAST_TASK $$" >> {log}; sleep {seconds}; echo "end $HOLDFAST_TASK $$" >> {log}'
TASKS_A_PLAN = 5


def killed_at_random(
    world: World, *, tasks: int, waves: int, kills: int, seed: int, seconds: float = 0.05
) -> None:
    """`tasks` in `waves` with four workers, and one gate a wave, under so many kills."""
    chance = random.Random(seed)
    _write_plans(world, tasks, waves, seconds)
    world.log.touch()
    world.begin(jobs=4)
    killed = Counter[str]()
    while killed.total() < kills:
        runner = _runner(world)
        try:
            _wait_until_at_work(world, runner.pid)
            while runner.poll() is None and killed.total() < kills:
                time.sleep(chance.random() * 0.15)
                _answer_some(world, chance)
                workers = _children(runner.pid)
                if chance.random() < 0.6 and workers:
                    killed["worker"] += 1
                    _kill(chance.choice(workers))
                else:
                    killed["runner"] += 1
                    runner.kill()
                    break
            assert world.state()["status"] != "done", "more tasks are needed for so many kills"
        finally:
            runner.kill()
            runner.wait()
    _to_the_end(world)
    assert killed["worker"], "no worker was killed: take another seed"
    assert killed["runner"], "no runner was killed: take another seed"
    _check(world, tasks)


def _write_plans(world: World, tasks: int, waves: int, seconds: float) -> None:
    work = auto(WORK.format(log=world.log, seconds=seconds))
    plans = tasks // TASKS_A_PLAN
    for number in range(plans):
        wave = number * waves // plans + 1
        is_last = (number + 1) * waves // plans + 1 > wave
        body = work * TASKS_A_PLAN
        if is_last:  # the last plan of each wave waits for a person
            body = work * (TASKS_A_PLAN - 1) + VERIFY + work
        autonomous = "false" if is_last else "true"
        world.plan(f"1/{number:02d}", body, wave=wave, autonomous=autonomous)


def _wait_until_at_work(world: World, runner: int) -> None:
    begun = world.log.stat().st_size

    def at_work() -> bool:
        _answer_some(world, None)
        return world.log.stat().st_size > begun or not _lives(runner)

    wait_for(at_work)


def _answer_some(world: World, chance: random.Random | None) -> None:
    """A person comes by, sooner or later."""
    for gate in world.open_gates():
        if chance is None or chance.random() < 0.5:
            world.answer(gate, "approved")


def _to_the_end(world: World) -> None:
    runner = _runner(world)

    try:
        # As long as there is progress, however slow this machine is.
        while runner.poll() is None:
            size = world.log.stat().st_size
            wait_for(lambda: _moves(world, runner, size))  # noqa: B023
    finally:
        runner.kill()
        runner.wait()
    assert runner.returncode == 0, (world.root / "runner.log").read_text()[-3000:]


def _moves(world: World, runner: warm.Process, size: int) -> bool:
    _answer_some(world, None)
    return runner.poll() is not None or world.log.stat().st_size > size


def _runner(world: World) -> warm.Process:
    """A runner that nobody reads: what it says goes to a file, which is never full."""
    words = ("plan", "resume", world.id, "--wait", "--json")
    with open(world.root / "runner.log", "ab") as log:
        return warm.start(
            [sys.executable, "-m", "holdfast", *words],
            stdout=log,
            stderr=log,
            cwd=world.root,
            env={**os.environ, "HOLDFAST_ACTOR": "tester"},
        )


def _check(world: World, tasks: int) -> None:
    state = world.state()
    assert state["status"] == "done"
    accepted = Counter(world.done())
    assert set(accepted.values()) == {1}, "each accepted once"
    assert len(accepted) == tasks, "and none left out"
    waves_in_order(world)
    _no_gate_unanswered(world)
    _never_two_at_once(world)
    assert world.orphans() == [], "nothing is left at work"


def waves_in_order(world: World) -> None:
    """No task of a wave begins before every task of the waves before it is accepted."""
    waves = world.state()["phases"][0]["waves"]
    wave_of = {id: number for number, wave in enumerate(waves) for id in wave}
    started: dict[int, list[int]] = {}
    done: dict[int, list[int]] = {}
    for record in world.records("task_started", "task_done"):
        kind = started if record["kind"] == "task_started" else done
        kind.setdefault(wave_of[record["body"]["plan"]], []).append(record["version"])
    for wave in range(1, len(waves)):
        assert max(done[wave - 1]) < min(started[wave])


def _no_gate_unanswered(world: World) -> None:
    """A gate is passed after its person answered, and the next task begins after that."""
    answered = world.records("gate_answered")
    waiting = [plan for plan in world.state()["plans"].values() if plan["gates"]]
    assert len(answered) == len(waiting)
    for record in answered:
        plan, key = record["body"]["plan"], record["body"]["key"]
        answer = gates.read(world.workspace, record["body"]["gate"])["answer"]
        assert answer is not None
        assert answer["answer"] == "approved"
        later = str(int(key) + 1)
        begun = [
            one["version"]
            for one in world.records("task_started")
            if (one["body"]["plan"], one["body"]["task"]) == (plan, later)
        ]
        assert record["version"] < min(begun)


def _never_two_at_once(world: World) -> None:
    """A program that was killed never ends; the next of the same task begins only after that."""
    running: dict[str, str] = {}
    ended = Counter[str]()
    for line in world.log.read_text().splitlines():
        word, task, process = line.split()
        if word == "begin":
            running[task] = process
        else:
            assert running[task] == process, "a killed start went on beside its successor"
            ended[task] += 1
    assert set(ended) == set(world.done()), "every task was run to its end"


def _children(process: int) -> list[int]:
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _lives(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
