"""The worker's side: functions that Dask calls with plain data, and the work tree of a plan, which is
fetched and pushed by git."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from distributed import WorkerPlugin, get_worker
from distributed.utils import sync

from holdfast.contrib.cluster.supervisor_process import ProgramsApart
from holdfast.git.run import git
from holdfast.git.run import run as run_git
from holdfast.kernel.blank import blank
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import read_plain
from holdfast.plans.executors import TaskWork
from holdfast.plans.worktrees import commit_rest, user_git
from holdfast.processes.supervisor import NOT_STARTED, Ended, ended_of
from holdfast.version import __version__

TREES = "trees"
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--force")
PUSH = ("push", "--quiet", "--force", "--no-verify")
_lock = threading.Lock()
_in_use: set[str] = set()
OWN = "holdfast"
GONE = ("released", "forgotten", "error")
AT_WORK = ("executing", "long-running")
_programs: dict[str, ProgramsApart] = {}
# Which start belongs to which runner of which run, and the runner that may start at all.
_starts: dict[str, tuple[str, str]] = {}
_runners: dict[str, str] = {}


class SharedFiles(TypedDict):
    """A file of the run and its content. A worker that reads the same content sees the same disk."""

    path: str
    text: str


class WorkSource(TypedDict):
    """Where a plan's work tree comes from: the repository, the ref and commit to begin with, the ref for
    the result, and the run's folder below the top."""

    remote: str
    ref: str
    commit: str
    result: str
    inside: str
    plan: str
    run: str


class WorkOrder(TypedDict):
    """One start of one task, for a worker. The log in `work` is used on a shared disk."""

    version: str
    run: str
    runner: str
    work: TaskWork
    shared: SharedFiles
    source: WorkSource | None


class WorkAnswer(TypedDict):
    """How a start ended, on which worker, the end of its output, and its commit. `apart`: the worker
    does not see the run's disk. `unfit`: why the worker could not try it."""

    ended: Ended
    on: str
    log: str | None
    left_out: int
    commit: str
    apart: bool
    unfit: str


class Worker(TypedDict):
    """A worker as its scheduler knows it."""

    name: str
    address: str
    host: str
    threads: int
    resources: Mapping[str, float]


# The topic on which workers tell where a task is, and what it said last.
TOPIC = "holdfast"
# A task that runs for so long is reported.
TOLD_SECONDS = 1.0
# So much of the end of what a task said comes back.
LOG_BYTES = 256 * 1024


def key_of(run: str, mark: str) -> str:
    """The key of a start in Dask."""
    return f"holdfast-{run}-{mark}"


def mark_of(key: str) -> str:
    """The mark in one of our keys; empty for other keys."""
    return key.rpartition("-")[2] if key.startswith("holdfast-") else ""


class Tree:
    """The tree of one start. A plan's next task on this worker finds the files that git ignores."""

    def __init__(self, source: WorkSource, own: str) -> None:
        self._source = source
        self._repository = os.path.join(own, f"repository-{id_of(source['remote'])[:12]}")
        name = source["result"].removeprefix("refs/holdfast/runs/").rpartition("/")[0]
        self._path = os.path.join(own, TREES, name.replace("/", "-"))

    def __enter__(self) -> str:
        """Fetch the tree. Return the folder to work in."""
        with _lock:
            if self._path in _in_use:  # a start that was given up has not let go of it yet
                self._path += "-" + self._source["result"].rpartition("/")[2]
            _in_use.add(self._path)
            try:
                self._fetch()
            except BaseException:
                _in_use.discard(self._path)
                raise
        return os.path.normpath(os.path.join(self._path, self._source["inside"]))

    def __exit__(self, *_: object) -> None:
        _in_use.discard(self._path)

    def _fetch(self) -> None:
        source = self._source
        if not os.path.isdir(self._repository):
            os.makedirs(self._repository, 0o700)
            git(self._repository, "init", "--quiet", "--bare")
        refs = f"{source['ref']}:{source['ref']}"
        user_git(self._repository, *FETCH, source["remote"], refs)
        if run_git(self._repository, "cat-file", "-e", f"{source['commit']}^{{commit}}").code:
            raise HoldfastError(f"{source['remote']} has no {source['commit'][:12]} any more.")
        if os.path.exists(os.path.join(self._path, ".git")):
            git(self._path, "checkout", "--quiet", "--force", "--detach", source["commit"])
            user_git(self._path, "clean", "-fdq")
            return
        shutil.rmtree(self._path, ignore_errors=True)
        git(self._repository, "worktree", "prune")
        words = ("worktree", "add", "--quiet", "--force", "--detach")
        user_git(self._repository, *words, self._path, source["commit"])

    def give_back(self) -> str:
        """Commit what was left uncommitted, and push it. Return the commit."""
        source = self._source
        commit_rest(self._path, source["plan"], source["run"])
        commit = git(self._path, "rev-parse", "HEAD").decode().strip()
        if commit != source["commit"]:
            user_git(self._path, *PUSH, source["remote"], f"HEAD:{source['result']}")
        return commit


def forget(own: str, run: str) -> None:
    """Remove the trees of a run."""
    folder = os.path.join(own, TREES)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith(f"{run}-"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


class EndListener(WorkerPlugin):  # type: ignore[misc]
    """Ends programs when the runner cancels their task, and when the worker ends."""

    name = OWN

    def __init__(self, programs: ProgramsApart) -> None:
        self._programs = programs

    def teardown(self, worker: Any) -> None:
        self._programs.close()

    def transition(self, key: str, start: str, finish: str, **_: Any) -> None:
        if start in AT_WORK and finish in GONE and mark_of(key):
            self._programs.end([mark_of(key)])


def carry_out(order: WorkOrder) -> WorkAnswer:
    """Run one start of one task to its end. The answer says what went wrong."""
    worker: Any = get_worker()
    ended = ended_of(order["work"]["mark"], NOT_STARTED, "")
    answer: WorkAnswer = blank(WorkAnswer, ended=ended, on=_name(worker), unfit=_unfit(order))
    if answer["unfit"]:
        return answer
    try:
        _carry_out(order, worker, answer)
    except (HoldfastError, OSError) as error:
        said = error.message if isinstance(error, HoldfastError) else str(error)
        answer["ended"] = ended_of(order["work"]["mark"], NOT_STARTED, f"{answer['on']}: {said}")
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
        answer["ended"] = _run(order, worker, answer["on"], work["folder"], work["log"])
        return
    assert order["source"] is not None
    tree, log = Tree(order["source"], own), os.path.join(own, "logs", f"{work['mark']}.log")
    with tree as folder:
        answer["ended"] = _run(order, worker, answer["on"], folder, log)
        answer["log"], answer["left_out"] = _end_of(log)
        answer["commit"] = tree.give_back()


def _run(order: WorkOrder, worker: Any, on: str, folder: str, log: str) -> Ended:
    work, programs = order["work"], _programs_of(worker)
    _starts[work["mark"]] = (order["run"], order["runner"])

    def tell_place() -> None:
        worker.log_event(TOPIC, {"mark": work["mark"], "run": order["run"], "on": on})

    job: TaskWork = {
        **work,
        "folder": folder,
        "environment": {**os.environ, **work["environment"]},
        "log": log,
        "own": os.path.join(worker.local_directory, OWN, "jobs"),
    }
    ended = programs.run(job, tell_place, TOLD_SECONDS)
    if not ended["left"]:
        _starts.pop(work["mark"], None)
    return ended


def is_shared(shared: SharedFiles, folder: str = "") -> bool:
    """Whether this worker sees the disk of the runner."""
    try:
        text = read_plain(shared["path"]).decode("ascii")
        return text == shared["text"] and (not folder or os.path.isdir(folder))
    except (OSError, ValueError):
        return False


def end_starts(marks: Sequence[str], now: bool) -> None:
    """End these programs: first ask them, or kill them at once."""
    for programs in list(_programs.values()):
        programs.end(marks, now=now)


def end_others(run: str, runner: str) -> list[str]:
    """End what another runner of this run has at work here, and let it start nothing more. Return the
    marks that are still alive."""
    _runners[run] = runner
    marks = [mark for mark, (of, by) in _starts.items() if of == run and by != runner]
    end_starts(marks, True)
    return [mark for mark in marks if mark in alive(marks)]


async def forget_trees(run: str, dask_worker: Any) -> None:
    """Remove the work trees of a run from this worker's disk."""
    own = os.path.join(dask_worker.local_directory, OWN)
    await asyncio.to_thread(forget, own, run)


def alive(marks: Sequence[str]) -> list[str]:
    """The marks of which a process is left here."""
    found: set[str] = set().union(*(one.alive for one in list(_programs.values())))
    return [mark for mark in marks if mark in found]


def _programs_of(worker: Any) -> ProgramsApart:
    with _lock:
        if worker.address not in _programs:
            programs = ProgramsApart()
            sync(worker.loop, worker.plugin_add, EndListener(programs), name=OWN)
            _programs[worker.address] = programs
        return _programs[worker.address]


def _name(worker: Any) -> str:
    """The name that a person gave the worker, else its machine and port."""
    machine = socket.gethostname()
    if str(worker.name) != worker.address:
        return f"{worker.name}@{machine}"
    return f"{machine}:{worker.address.rpartition(':')[2]}"


def _end_of(log: str) -> tuple[str, int]:
    """The end of a log, and how many bytes come before it. The log is removed."""
    try:
        with open(log, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - LOG_BYTES))
            text = file.read(LOG_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return "", 0
    os.unlink(log)
    return text, max(0, size - LOG_BYTES)
