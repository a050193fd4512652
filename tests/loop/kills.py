"""A run that is killed at random instants, and what must be true when it came to its end."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

from tests.loop.programs import good, worker, write
from tests.loop.world import World
from tests.processes import process, wait_for

RUN = ("loop", "run", "--track", "demo", "--with", "steps.toml", "--json")


def killed_at_random(
    world: World, tmp_path: Path, *, tasks: int, kills: int, longest: float, seed: int
) -> None:
    log = tmp_path / "log"
    log.touch()
    names = [f"{number // 10 + 1}.{number % 10 + 1}" for number in range(tasks)]
    steps = good(EXECUTE=worker(log, 0.05))
    steps["EXECUTE"]["tasks"] = names
    write(world, steps)
    world.start("EVALUATE_PLAN")
    world.do("pass")
    world.do("advance")
    chance = random.Random(seed)
    for kill in range(kills):
        run = process(*RUN)
        if kill % 2:  # at work for certain, however fast or slow this machine is
            begun = log.stat().st_size
            wait_for(lambda: log.stat().st_size > begun or run.poll() is not None)  # noqa: B023
            at_work = run.poll() is None
            time.sleep(chance.random() * 0.05)
        else:
            at_work = True
            time.sleep(chance.random() * longest)
        run.kill()
        out, err = run.communicate()
        # More tasks are needed for so many kills, or it ended with an error.
        assert at_work, (run.returncode, out[-2000:], err)
        assert world.file(), "always whole, always JSON"
    run = process(*RUN)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, (run.returncode, out[-2000:], err)
    _every_task_once(world, log, names)


def _every_task_once(world: World, log: Path, names: list[str]) -> None:
    checkpoint = world.checkpoint("EXECUTE")
    assert checkpoint["completed_tasks"] == names, "each once, in order, none skipped"
    assert checkpoint["tasks_completed"] == checkpoint["tasks_total"] == len(names)
    assert (checkpoint["last_task"], checkpoint["status"]) == (names[-1], "PASSED")
    assert world.file()["status"] == "complete"
    accepted = [event["task"] for event in world.events() if event["event"] == "task_done"]
    assert accepted == names, "accepted once, on the record"
    ended = Counter(line.split()[1] for line in log.read_text().splitlines() if "end" in line)
    assert set(ended) == set(names), "every task was run to its end"
    _never_two_at_once(log)
    assert not world.lock.exists()


def _never_two_at_once(log: Path) -> None:
    """A program that was killed never ends; the next one begins only after that."""
    running = ""
    for line in log.read_text().splitlines():
        word, _, who = line.partition(" ")
        if word == "begin":
            running = who
        else:
            assert who == running, "the task of a killed run went on beside its successor"
