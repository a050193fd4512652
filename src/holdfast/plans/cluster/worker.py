"""A worker's side: functions that Dask calls on it, by their names, with plain data.

A start runs under our own keeper. Dask cannot interrupt what runs in a thread, so a plugin hears when
the scheduler gives a task up (it was cancelled, or its runner is gone), and ends the program.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin, get_worker
from distributed.utils import sync

from holdfast.kernel.errors import HoldfastError
from holdfast.plans.cluster.model import LOG_BYTES, TOLD_SECONDS, TOPIC, mark_of
from holdfast.plans.cluster.tree import Tree, forget
from holdfast.processes.supervisor import NOT_STARTED
from holdfast.processes.supervisor_process import ProgramsApart, ended_of
from holdfast.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plans.cluster.model import SharedFiles, WorkAnswer, WorkOrder
    from holdfast.processes.supervisor import Ended

OWN = "holdfast"
GONE = ("released", "forgotten", "error")
AT_WORK = ("executing", "long-running")
_lock = threading.Lock()
_programs: dict[str, ProgramsApart] = {}
# Which start belongs to which runner of which run, and the runner that may start at all.
_starts: dict[str, tuple[str, str]] = {}
_runners: dict[str, str] = {}


class Ears(WorkerPlugin):  # type: ignore[misc]
    """Hears of tasks that nobody wants any more, and of the worker's end."""

    name = OWN

    def __init__(self, programs: ProgramsApart) -> None:
        self._programs = programs

    def teardown(self, worker: Any) -> None:
        self._programs.close()

    def transition(self, key: str, start: str, finish: str, **_: Any) -> None:
        if start in AT_WORK and finish in GONE and mark_of(key):
            self._programs.end([mark_of(key)])


def carry_out(order: WorkOrder) -> WorkAnswer:
    """One start of one task, to its end. Whatever goes wrong here is said in the answer."""
    worker: Any = get_worker()
    answer: WorkAnswer = {
        "ended": ended_of(order["work"]["token"], NOT_STARTED, ""),
        "on": _name(worker),
        "log": None,
        "left_out": 0,
        "commit": "",
        "apart": False,
        "unfit": _unfit(order),
    }
    if answer["unfit"]:
        return answer
    try:
        _carry_out(order, worker, answer)
    except (HoldfastError, OSError) as error:
        said = error.message if isinstance(error, HoldfastError) else str(error)
        answer["ended"] = ended_of(order["work"]["token"], NOT_STARTED, f"{answer['on']}: {said}")
    return answer


def _unfit(order: WorkOrder) -> str:
    if order["version"] != __version__:
        return f"has holdfast {__version__}, and the runner {order['version']}"
    if _runners.get(order["run"], order["runner"]) != order["runner"]:
        return "has been told of a newer runner of this run"
    return ""


def _carry_out(order: WorkOrder, worker: Any, answer: WorkAnswer) -> None:
    work, own = order["work"], os.path.join(worker.local_directory, OWN)
    os.makedirs(own, 0o700, exist_ok=True)
    answer["apart"] = not is_shared(order["shared"], work["folder"])
    if answer["apart"] and order["source"] is None:
        answer["unfit"] = f"does not see {work['folder']}"
        return
    if not answer["apart"]:
        answer["ended"] = _run(order, worker, answer["on"], work["folder"], order["log"])
        return
    assert order["source"] is not None
    tree, log = Tree(order["source"], own), os.path.join(own, "logs", f"{work['token']}.log")
    with tree as folder:
        answer["ended"] = _run(order, worker, answer["on"], folder, log)
        answer["log"], answer["left_out"] = _end_of(log)
        answer["commit"] = tree.give_back()


def _run(order: WorkOrder, worker: Any, on: str, folder: str, log: str) -> Ended:
    work, programs = order["work"], _programs_of(worker)
    _starts[work["token"]] = (order["run"], order["runner"])

    def listen(line: str) -> None:
        said = {"mark": work["token"], "run": order["run"], "on": on, "line": line}
        worker.log_event(TOPIC, said)

    ended = programs.run(
        {
            "mark": work["token"],
            "stages": work["stages"],
            "folder": folder,
            "environment": {**os.environ, **work["environment"]},
            "log": log,
            "own": os.path.join(worker.local_directory, OWN, "jobs"),
            "seconds": work["seconds"],
        },
        listen,
        TOLD_SECONDS,
    )
    if not ended["left"]:
        _starts.pop(work["token"], None)
    return ended


def is_shared(shared: SharedFiles, folder: str = "") -> bool:
    """Whether this worker sees the disk of the runner."""
    try:
        with open(shared["path"], encoding="ascii") as file:
            return file.read() == shared["text"] and (not folder or os.path.isdir(folder))
    except (OSError, ValueError):
        return False


def end_starts(marks: Sequence[str], now: bool) -> None:
    """End these programs: asked first, or at once."""
    for programs in list(_programs.values()):
        programs.end(marks, now=now)


def end_others(run: str, runner: str) -> list[str]:
    """End what another runner of this run left at work, and let it start nothing more here; the marks."""
    _runners[run] = runner
    marks = [mark for mark, (of, by) in _starts.items() if of == run and by != runner]
    end_starts(marks, True)
    return [mark for mark in marks if mark in alive(marks)]


async def forget_trees(run: str, dask_worker: Any) -> None:
    """Remove what a run has on this worker's disk."""
    own = os.path.join(dask_worker.local_directory, OWN)
    await asyncio.to_thread(forget, own, run)


def alive(marks: Sequence[str]) -> list[str]:
    """Those of which something is left here."""
    found: set[str] = set().union(*(one.alive for one in list(_programs.values())))
    return [mark for mark in marks if mark in found]


def _programs_of(worker: Any) -> ProgramsApart:
    with _lock:
        if worker.address not in _programs:
            programs = ProgramsApart()
            sync(worker.loop, worker.plugin_add, Ears(programs), name=OWN)
            _programs[worker.address] = programs
        return _programs[worker.address]


def _name(worker: Any) -> str:
    """What people call it: the name that they gave it, else its machine and port."""
    machine = socket.gethostname()
    if str(worker.name) != worker.address:
        return f"{worker.name}@{machine}"
    return f"{machine}:{worker.address.rpartition(':')[2]}"


def _end_of(log: str) -> tuple[str, int]:
    """The end of what a program said, and how much stands before it."""
    try:
        with open(log, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - LOG_BYTES))
            text = file.read(LOG_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return "", 0
    os.unlink(log)
    return text, max(0, size - LOG_BYTES)
