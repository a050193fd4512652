"""`step.done` of the library, against one durable record and one file replaced."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from itertools import count

import holdfast
from bench.harness import Contender, Plan, Row, repository, take_turns, timed_row
from bench.subject import ACTOR, STREAM, Latest, bench_writer, body
from holdfast.kernel import clock
from holdfast.kernel.rename import HERE, exchange_names
from holdfast.loop.api import LoopStep

OURS, BASE = "step.done", "record + file replaced"
BARE = "append + fdatasync + file replaced"
# What the protocol asks of the system for a task besides the record, with nothing of ours around it.
CALLS = "record + its changes of folders and files"
# A track of this many tasks: the file of a usual plan.
TASKS = 40
RECORD_BYTES = 600


def measure(plan: Plan) -> list[Row]:
    contenders: dict[str, Contender] = {
        BASE: _record_and_file(plan.folder),
        BARE: _bare(plan.folder),
        CALLS: _record_and_calls(plan.folder),
        OURS: _step(plan.folder),
    }
    samples = take_turns("step_done", contenders, plan.rounds(1000, 200))
    row = timed_row("step.done in a track of 40 tasks, p50", samples, ours=OURS, base=BASE, bar=1.5)
    row.remark = (
        "step.done also takes and gives back the track's mkdir lock, appends to its history, and removes the "
        f"file that the new one displaced: {CALLS!r} does these and nothing else"
    )
    return [row]


def _step(folder: str) -> Contender:
    """A new track whenever one is done, so that the file stays a usual one."""
    root = repository(folder, "step")
    workspace = holdfast.open(root)
    tasks = [f"{number // 10 + 1}.{number % 10 + 1}" for number in range(TASKS)]
    numbers = count()
    open_step: list[tuple[LoopStep, list[str]]] = []

    def contender() -> float:
        if not open_step or not open_step[0][1]:
            step = workspace.loop(f"track-{next(numbers)}").step("EXECUTE", tasks=tasks)
            open_step[:] = [(step.__enter__(), list(tasks))]
        step, left = open_step[0]
        task = left.pop(0)
        start = time.perf_counter()
        done = step.done(task, commit="0123456789abcdef0123456789abcdef01234567")
        taken = time.perf_counter() - start
        if not done:
            raise RuntimeError(f"{task} was done before")
        return taken

    return contender


def _record_and_file(folder: str) -> Contender:
    _, writer = bench_writer(repository(folder, "record"), Latest())
    replace = _replacement(folder, "record.json")
    steps = count()

    def contender() -> float:
        told = body(next(steps), size=RECORD_BYTES)
        start = time.perf_counter()
        writer.execute(STREAM, told, actor=ACTOR, now=clock.now())
        replace()
        return time.perf_counter() - start

    return contender


def _record_and_calls(folder: str) -> Contender:
    """The track's lock, its file staged, exchanged and the displaced one removed, and its history."""
    _, writer = bench_writer(repository(folder, "calls"), Latest())
    lock, view, aside, steps = f"{folder}/lock", f"{folder}/view", f"{folder}/aside", count()
    content, line = b"x" * 4000, b"x" * 219 + b"\n"
    making = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    begin_writing = getattr(os, "posix_fadvise", None)
    with open(view, "wb") as file:
        file.write(content)

    def contender() -> float:
        told = body(next(steps), size=RECORD_BYTES)
        start = time.perf_counter()
        os.mkdir(lock, 0o500)
        descriptor = os.open(aside, making, 0o600)
        os.write(descriptor, content)
        if begin_writing is None:
            os.fsync(descriptor)
        else:
            begin_writing(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        writer.execute(STREAM, told, actor=ACTOR, now=clock.now())
        exchange_names(HERE, aside, HERE, view)
        os.unlink(aside)
        descriptor = os.open(f"{folder}/history", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, line)
        os.close(descriptor)
        os.rmdir(lock)
        return time.perf_counter() - start

    return contender


def _bare(folder: str) -> Contender:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    descriptor = os.open(os.path.join(folder, "bare.jsonl"), flags, 0o600)
    sync = os.fsync if sys.platform == "darwin" else os.fdatasync
    replace, line = _replacement(folder, "bare.json"), b"x" * RECORD_BYTES

    def contender() -> float:
        start = time.perf_counter()
        os.write(descriptor, line)
        sync(descriptor)
        replace()
        return time.perf_counter() - start

    return contender


def _replacement(folder: str, name: str) -> Callable[[], None]:
    """A file of the size of a track's, written aside, synced and renamed."""
    path, content = os.path.join(folder, name), b"x" * 4000

    def replace() -> None:
        descriptor = os.open(
            f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        os.write(descriptor, content)
        os.fsync(descriptor)
        os.close(descriptor)
        os.rename(f"{path}.new", path)

    return replace
