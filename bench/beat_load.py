"""200 agents that beat as fast as they can, from 20 processes in one workspace.

`python -m bench.beat_load beat|append FOLDER FIRST AGENTS` is one of these processes: it says `ready`, begins
when its standard input is closed, and says how often it was answered.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable

import holdfast
from bench.harness import Plan, Row, environment, python, repository, say

PROCESSES, AGENTS = 20, 10
ASKED = 400
RECORD = b"x" * 2047 + b"\n"
FLOOR = "a lock, append + fdatasync from as many"


def measure(plan: Plan) -> list[Row]:
    seconds = plan.rounds(15, 5)
    folder = repository(plan.folder, "load")
    floors = [_rate("append", folder, seconds / 3)[0]]
    beats, spent = _rate("beat", folder, seconds)
    floors.append(_rate("append", folder, seconds / 3)[0])
    _check(folder, round(beats * seconds))
    floor = sum(floors) / len(floors)
    row = Row(
        f"a beat of one of {PROCESSES * AGENTS} agents, from {PROCESSES} processes",
        ours=1000 / beats,
        base=1000 / ASKED,
        base_name=f"which is {ASKED} a second",
        unit="ms",
        bar=1.0,
        peers={FLOOR: ASKED / floor},
    )
    row.remark = (
        f"{beats:.0f} beats a second, each acknowledged, {spent * 1000:.2f} ms of a processor each; "
        f"{FLOOR} does {floor:.0f} a second"
    )
    return [row]


def _rate(what: str, folder: str, seconds: float) -> tuple[float, float]:
    """How often a second all processes together were answered, and the processor time of each answer."""
    say(f"beat_load: {what} from {PROCESSES} processes for {seconds:.0f} s")
    running = [
        subprocess.Popen(
            python("-m", "bench.beat_load", what, folder, str(number * AGENTS), str(seconds)),
            env={**environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]
    try:
        for process in running:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError(f"{what}: a process did not begin")
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
        answered, spent = 0, 0.0
        for process in running:
            assert process.stdout is not None
            count, busy = process.stdout.read().split()
            answered += int(count)
            spent += float(busy)
            if process.wait():
                raise RuntimeError(f"{what}: a process ended with {process.returncode}")
        return answered / seconds, spent / max(1, answered)
    finally:
        for process in running:
            process.kill()


def _check(folder: str, acknowledged: int) -> None:
    """That every beat which was acknowledged is in the journal."""
    with holdfast.open(folder) as workspace:
        beats = [each for each in workspace.history(limit=1_000_000) if each["kind"] == "beat"]
    if len(beats) < acknowledged:
        raise RuntimeError(f"{len(beats)} beats in the journal, {acknowledged} acknowledged")


def main(what: str, folder: str, first: int, seconds: float) -> None:
    turns = _appends(folder) if what == "append" else _beats(folder, first)
    print("ready", flush=True)
    sys.stdin.read()
    end, answered, began = time.monotonic() + seconds, 0, time.process_time()
    while time.monotonic() < end:
        turns[answered % len(turns)](answered)
        answered += 1
    print(answered, time.process_time() - began)


def _beats(folder: str, first: int) -> list[Callable[[int], object]]:
    workspace = holdfast.open(folder, actor="bench")
    agents = [
        workspace.agent(f"Secondary-{number}", feature=f"feature_{number}").__enter__()
        for number in range(first, first + AGENTS)
    ]
    return [lambda turn, agent=agent: agent.beat(step=f"Turn {turn}") for agent in agents]  # type: ignore[misc]


def _appends(folder: str) -> list[Callable[[int], object]]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    log, lock = (os.open(os.path.join(folder, name), flags) for name in ("floor", "floor.lock"))
    sync = os.fsync if sys.platform == "darwin" else os.fdatasync

    def append(_: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(log, RECORD)
        sync(log)
        fcntl.flock(lock, fcntl.LOCK_UN)

    return [append]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
