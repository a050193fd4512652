"""What a run adds to a task: deciding, recording its start and its end, and looking at the budget."""

from __future__ import annotations

import os
import queue
import threading
import time
from itertools import count
from typing import Any

from bench.harness import Contender, Plan, Row, repository, take_turns, timed_row
from bench.peer_dbos import Worker
from bench.subject import ACTOR, STREAM, Latest, bench_writer, body
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.plans.news import Interrupts
from holdfast.plans.operations import begin
from holdfast.plans.rules import document
from holdfast.plans.runner import Execution, RunContext, Runner
from holdfast.streams import open_writer

OURS, BASE, DBOS = "a task of a run", "one durable record", "DBOS, a workflow of one step"
PLANS, TASKS = 4, 25
RECORD_BYTES = 300
TASK = '<task type="auto"><name>n</name><action>a</action><run>true</run></task>\n'


def measure(plan: Plan) -> list[Row]:
    contenders: dict[str, Contender] = {BASE: _record(plan.folder), OURS: _task(plan.folder)}
    missing: dict[str, str] = {}
    worker: Worker | None = None
    try:
        worker = Worker(plan.folder)
        contenders[DBOS] = lambda: worker(body(0, size=RECORD_BYTES))
    except (RuntimeError, ValueError) as error:
        missing[DBOS] = str(error)
    try:
        heavy = [DBOS] if worker else []
        samples = take_turns("plan_task", contenders, plan.rounds(1000, 200), heavy=heavy)
    finally:
        if worker is not None:
            worker.close()
    row = timed_row("scheduling a task of a run, p50", samples, ours=OURS, base=BASE, bar=5.0)
    row.peers.update(missing)
    row.remark = (
        "between one end of a task and the next, with programs that end at once and cost nothing to "
        "start: two records, the decision, the budget as far as it can have changed; at each 25th task "
        "a plan's logbook is in it, and once a second the transponder"
    )
    return [row]


class _AtOnce:
    """An executor whose work is done when it is given. It tells of one end in each of its turns, so
    that the other contenders have theirs between two tasks of the same run."""

    def __init__(self) -> None:
        self._ended: list[Any] = []
        self._turn = threading.Semaphore(0)
        self._told: queue.Queue[float | BaseException] = queue.Queue()
        self._since: float | None = None
        self._has_turn = False

    def sample(self) -> float:
        """Let the run go from one end of a task to the next; the seconds."""
        self._turn.release()
        told = self._told.get()
        if isinstance(told, BaseException):
            raise told
        return told

    def begin(self) -> None:
        """Another run: what it takes to begin is no task's."""
        self._since = None

    def fail(self, error: BaseException) -> None:
        self._told.put(error)

    @property
    def at_work(self) -> int:
        return len(self._ended)

    @property
    def alive(self) -> int:
        return 0

    def start(self, work: Any) -> None:
        self._ended.append(
            {
                "mark": work["mark"],
                "code": 0,
                "stage": "run",
                "seconds": 0.0,
                "last_line": "",
                "too_long": False,
                "lost": False,
                "left": False,
            }
        )

    def wait(self, seconds: float, *others: int) -> list[Any]:
        now = time.perf_counter()
        if self._since is not None:
            self._told.put(now - self._since)
            self._has_turn = False
        if not self._has_turn:
            self._turn.acquire()
            self._has_turn = True
        self._since = time.perf_counter()
        return [self._ended.pop(0)]

    def last_line(self, mark: str) -> str:
        return ""

    def release(self, mark: str) -> None:
        return None

    def end(self, *, now: bool = False) -> list[Any]:
        return []

    def end_leftovers(self, marks: Any) -> int:
        return 0

    def placed(self) -> list[tuple[str, str]]:
        return []

    @property
    def address(self) -> str:
        return ""

    @property
    def waits(self) -> str:
        return ""


def _task(folder: str) -> Contender:
    """Whole runs, one after the other; each sample is the time from one task's end to the next one's."""
    root = repository(folder, "run")
    os.makedirs(os.path.join(root, "plans"))
    head = "---\nphase: 1\nplan: {0:02d}\nautonomous: true\n---\n"
    plans = []
    for number in range(PLANS):
        path = f"plans/{number:02d}.md"
        text = head.format(number) + TASK * TASKS
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)
        plans.append(document.read(text, path))
    executor = _AtOnce()
    threading.Thread(target=_run, args=(root, plans, executor), daemon=True).start()
    return executor.sample


def _run(root: str, plans: list[Any], executor: _AtOnce) -> None:
    options: Any = {"jobs": 4, "tries": 1, "worktrees": False, "phase": "", "task": ""}
    interrupts = Interrupts()
    try:
        workspace = discover(root)
        writer = open_writer(workspace)
        while True:
            id = begin(writer, plans, options, actor=ACTOR, again=True)
            executor.begin()
            context = RunContext(writer=writer, actor=ACTOR, run=id)
            Runner(context, executor, Execution(), interrupts).to_the_end()
    except BaseException as error:
        executor.fail(error)


def _record(folder: str) -> Contender:
    _, writer = bench_writer(repository(folder, "plan-record"), Latest())
    steps = count()

    def contender() -> float:
        told = body(next(steps), size=RECORD_BYTES)
        start = time.perf_counter()
        writer.execute(STREAM, told, actor=ACTOR, now=clock.now())
        return time.perf_counter() - start

    return contender
