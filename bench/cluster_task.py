"""What a run adds to a task on a cluster, against Dask's own empty task on the same one."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from statistics import median
from typing import Any

from bench.harness import Contender, Plan, Row, repository, take_turns, timed_row
from bench.plan_task import TASK
from bench.subject import ACTOR
from holdfast.kernel import config
from holdfast.kernel.workspace import discover
from holdfast.plans.cluster.link import Link
from holdfast.plans.executors import Certificates, executor_of
from holdfast.plans.news import Interrupts
from holdfast.plans.operations import begin
from holdfast.plans.rules import document
from holdfast.plans.runner import Execution, RunContext, Runner
from holdfast.plans.runs import RunFolder, read
from holdfast.streams import open_writer

OURS, BASE = "a task of a run on Dask", "Dask's own empty task"
PROGRAM = "the program alone, by this process"
TASKS, TASKS_OF_MANY = 50, 4
# So many at once, where many are at once; and so many threads has the worker.
MANY = 16
THREADS = 4
SECONDS = 60.0


def measure(plan: Plan) -> list[Row]:
    with _cluster(plan.folder) as address:
        row = _one_by_one(plan, address)
        many = _many_at_once(plan, address)
    program = row.details[PROGRAM]["p50_ms"]
    each = {name: median(taken) * 1000 for name, taken in many.items()}
    row.details[f"{MANY} at once, each"] = {name: each[name] for name in (OURS, BASE)}
    row.remark = (
        "the figure is one task after the other, submitted, run, its result here; ours is a program under "
        "a keeper, its output kept, and two durable records. Without the program itself "
        f"({program:.3g} ms) it is {(row.ours - program) / row.base:.2f}. With {MANY} at once on {THREADS} "
        f"threads and whole runs of ours it is {each[OURS] / each[BASE]:.1f}: Dask sends its empty tasks in "
        "batches, and ours are processes"
    )
    return [row]


@contextlib.contextmanager
def _cluster(folder: str) -> Iterator[str]:
    """A scheduler and one worker, by Dask's own commands."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "dask"]
    host, port = address.removeprefix("tcp://").split(":")
    log = open(os.path.join(folder, "dask.log"), "wb")  # noqa: SIM115
    processes = [
        subprocess.Popen([*command, *words], cwd=folder, stdout=log, stderr=log)
        for words in (
            ("scheduler", "--host", host, "--port", port, "--no-dashboard"),
            ("worker", address, "--no-nanny", "--nthreads", str(THREADS), "--no-dashboard"),
        )
    ]
    try:
        deadline = time.monotonic() + SECONDS
        while not _workers(address):
            if time.monotonic() > deadline:
                raise RuntimeError(f"no worker after {SECONDS:.0f} s; see dask.log")
            time.sleep(0.2)
        yield address
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
        log.close()


def _workers(address: str) -> int:
    link = Link(address, Certificates())
    try:
        link.open()
        return len(link.workers() or ())
    except Exception:
        return 0
    finally:
        link.close()


def _one_by_one(plan: Plan, address: str) -> Row:
    link = Link(address, Certificates())
    link.open()
    contenders: dict[str, Contender] = {
        BASE: _empty(link),
        OURS: _Turns(_Runs(plan.folder, "one", link, plans=1, tasks=TASKS)).sample,
        PROGRAM: _program,
    }
    samples = take_turns("cluster_task", contenders, plan.rounds(500, 100))
    return timed_row("a task on a cluster, p50", samples, ours=OURS, base=BASE, bar=3.0)


def _many_at_once(plan: Plan, address: str) -> dict[str, list[float]]:
    """Seconds for each of many: Dask's own empty tasks, and those of whole runs of ours."""
    link = Link(address, Certificates())
    link.open()
    client, numbers = link._client, count()

    def empty() -> float:
        start = time.perf_counter()
        names = [f"many-{next(numbers)}" for _ in range(MANY * TASKS_OF_MANY)]
        client.gather([client.submit(abs, 0, key=name, pure=False) for name in names])
        return (time.perf_counter() - start) / len(names)

    runs = _Runs(plan.folder, "many", link, plans=MANY, tasks=TASKS_OF_MANY)

    def ours() -> float:
        runner = runs.runner()
        start = time.perf_counter()
        runner.to_the_end()
        return (time.perf_counter() - start) / (MANY * TASKS_OF_MANY)

    contenders: dict[str, Contender] = {BASE: empty, OURS: ours}
    try:
        return take_turns("cluster_task, many", contenders, plan.rounds(20, 4))
    finally:
        link.close()


def _empty(link: Link) -> Contender:
    numbers = count()

    def contender() -> float:
        number = next(numbers)
        start = time.perf_counter()
        link._client.submit(abs, number, key=f"empty-{number}", pure=False).result()
        return time.perf_counter() - start

    return contender


def _program() -> float:
    start = time.perf_counter()
    subprocess.run(["/bin/sh", "-c", "true"])
    return time.perf_counter() - start


class _Runs:
    """Runs of the same plans, one after the other."""

    def __init__(self, folder: str, name: str, link: Link, *, plans: int, tasks: int) -> None:
        self._link = link
        self._root = repository(folder, name)
        self._jobs = plans
        self._plans = [self._plan(number, tasks) for number in range(plans)]

    def _plan(self, number: int, tasks: int) -> Any:
        os.makedirs(os.path.join(self._root, "plans"), exist_ok=True)
        path = f"plans/{number:02d}.md"
        text = f"---\nphase: 1\nplan: {number:02d}\nautonomous: true\n---\n" + TASK * tasks
        with open(os.path.join(self._root, path), "w", encoding="utf-8") as file:
            file.write(text)
        return document.read(text, path)

    def runner(self) -> Runner:
        """Of a run that has been begun."""
        jobs = self._jobs
        options: Any = {"jobs": jobs, "tries": 1, "worktrees": False, "phase": "", "task": ""}
        workspace = discover(self._root)
        writer = open_writer(workspace)
        id = begin(writer, self._plans, options, actor=ACTOR, again=True)
        place, settings = RunFolder(workspace, id), config.load(workspace, workspace.journal)
        executor = executor_of(self._link, writer, place, read(workspace, id), settings)
        context = RunContext(writer=writer, actor=ACTOR, run=id)
        return Runner(context, executor, Execution(), Interrupts())


class _Turns:
    """Runs in a thread, which has its turn from one start of a task to the next: what lies between is
    Dask's, the program, and two records."""

    def __init__(self, runs: _Runs) -> None:
        self._runs = runs
        self._turn = threading.Semaphore(0)
        self._told: queue.Queue[float | BaseException] = queue.Queue()
        self._since: float | None = None
        self._has_turn = False
        threading.Thread(target=self._run, daemon=True).start()

    def sample(self) -> float:
        self._turn.release()
        told = self._told.get()
        if isinstance(told, BaseException):
            raise told
        return told

    def _run(self) -> None:
        try:
            while True:
                runner = self._runs.runner()
                executor: Any = runner.executor
                executor.start = self._in_turns(executor.start)
                self._has_turn = self._since is not None
                self._since = None  # beginning a run is no task's
                runner.to_the_end()
        except BaseException as error:
            self._told.put(error)

    def _in_turns(self, start: Any) -> Any:
        def begin(work: Any) -> None:
            if self._since is not None:
                self._told.put(time.perf_counter() - self._since)
                self._has_turn = False
            if not self._has_turn:
                self._turn.acquire()
                self._has_turn = True
            self._since = time.perf_counter()
            start(work)

        return begin
