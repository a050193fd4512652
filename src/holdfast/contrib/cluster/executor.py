"""An executor whose starts are tasks of a Dask cluster.

Dask places them and runs them again when a worker dies. What it loses is a lost start; what comes back
late is reported unchanged, and the run's stream, which knows the mark at work, refuses it.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.contrib.cluster import worker
from holdfast.contrib.cluster.courier import Courier, refuse_unreachable
from holdfast.contrib.cluster.link import Link, silence_dask
from holdfast.contrib.cluster.worker import SharedFiles, WorkAnswer, Worker, WorkOrder
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import write_all
from holdfast.kernel.redact import Redactor
from holdfast.plans.executors import Certificates, TaskWork
from holdfast.plans.rules.run_model import RunState
from holdfast.plans.runs import RunFolder
from holdfast.processes.supervisor import GRACE_SECONDS, NOT_STARTED, Ended, ended_of
from holdfast.version import __version__

LOOK_SECONDS = 1.0
AGAIN_SECONDS = 0.5
POLL_SECONDS = 0.05
HASTE_SECONDS = 2.0
KILLED = -9


@dataclass
class _Start:
    """One start that has not ended, as far as we know."""

    order: WorkOrder
    since: float = field(default_factory=time.monotonic)
    is_sent: bool = False
    on: str = ""

    @property
    def task(self) -> str:
        return self.order["work"]["environment"].get("HOLDFAST_TASK", "a task")


class ClusterExecutor:
    """The starts of one runner on one cluster."""

    def __init__(
        self,
        link: Link,
        place: RunFolder,
        redactor: Redactor,
        *,
        folder: str,
        courier: Courier | None = None,
    ) -> None:
        self._link = link
        self._place = place
        self._redactor = redactor
        self._folder = folder
        self._courier = courier
        self._runner = new_id()
        self._starts: dict[str, _Start] = {}
        self._ended: list[Ended] = []
        # Starts of which something is left in the background.
        self._left: set[str] = set()
        self._placed: list[tuple[str, str]] = []
        self._is_apart = False
        self._away_since = 0.0
        self._tried = 0.0
        self._looked = 0.0
        self._lack = ""

    @property
    def at_work(self) -> int:
        return len(self._starts) + len(self._ended)

    @property
    def alive(self) -> int:
        return len(self._starts) + len(self._left)

    @property
    def address(self) -> str:
        return self._link.address

    @property
    def waits(self) -> str:
        """What the starts wait for; empty if they wait for nothing."""
        if self._away_since:
            since = time.strftime("%H:%M:%S UTC", time.gmtime(self._away_since))
            return f"waiting for the scheduler at {self._link.address} since {since}"
        return self._lack

    # Starts

    def start(self, work: TaskWork) -> None:
        order: WorkOrder = {
            "version": __version__,
            "run": self._place.id,
            "runner": self._runner,
            "work": {**work, "environment": _task_environment(work["environment"])},
            "shared": self._shared(),
            "source": None,
        }
        started = self._starts[work["mark"]] = _Start(order)
        if self._is_apart and self._courier is not None:
            plan = started.task.partition("#")[0]
            try:
                order["source"] = self._courier.send(work["folder"], plan, work["mark"])
            except HoldfastError as error:
                self._end(ended_of(work["mark"], NOT_STARTED, error.message))
                return
        self._send(started)

    def _send(self, started: _Start) -> None:
        """Send a start now, or when the scheduler is back."""
        started.is_sent = self._link.submit(started.order)

    def wait(self, seconds: float, *others: int) -> list[Ended]:
        self._reconnect()
        seconds = 0.0 if self._ended else seconds
        select.select([self._link.wake_descriptor, *others], [], [], seconds)
        for mark, answer in self._link.take_ends():
            self._accept(mark, answer)
        self._follow()
        ended, self._ended = self._ended, []
        return ended

    def _accept(self, mark: str, answer: WorkAnswer | BaseException) -> None:
        started = self._starts.get(mark)
        if isinstance(answer, BaseException):
            if started is not None:
                self._end(self._explain_failure(mark, answer))
            return
        if answer["ended"]["left"]:
            self._left.add(mark)
        ended: Ended = {**answer["ended"], "on": answer["on"]}
        if started is not None:
            self._keep_log(started.order, answer)
            ended = self._bring_back(started.order, answer, ended)
        self._end(ended)

    def _explain_failure(self, mark: str, error: BaseException) -> Ended:
        """The end of a start that Dask reports as failed."""
        name, text = type(error).__name__, " ".join(str(error).split())[:300]
        why = ""
        if name == "KilledWorker":
            why = "its workers were killed, again and again"
        elif name in ("FutureCancelledError", "CancelledError"):
            why = "the scheduler gave it up" if self._link.is_open else self._went_away
        if why:
            return {**ended_of(mark, KILLED, ""), "lost": True, "why": why}
        if isinstance(error, ModuleNotFoundError):
            text = f"a worker has no holdfast {__version__} ({text})"
        return {**ended_of(mark, NOT_STARTED, text or name), "stage": "worker"}

    @property
    def _went_away(self) -> str:
        return f"the scheduler at {self._link.address} went away"

    def _bring_back(self, order: WorkOrder, answer: WorkAnswer, ended: Ended) -> Ended:
        """The end of a start, after its work has been brought to this machine."""
        mark, on = ended["mark"], answer["on"]
        if answer["unfit"]:
            self._is_apart = self._is_apart or answer["apart"]
            if answer["apart"] and self._courier is not None:
                why = f"{on} does not see the disk of the run; it gets its work by git"
                return {**ended, "lost": True, "why": why}
            return {**ended, "last_line": f"{on} {answer['unfit']}", "stage": "worker"}
        if order["source"] is not None and answer["apart"] and self._courier is not None:
            try:
                self._courier.bring(order["source"], answer["commit"], order["work"]["folder"])
            except HoldfastError as error:
                why = f"its work is at {order['source']['result']} and did not come back: {error.message}"
                return {**ended_of(mark, NOT_STARTED, why), "stage": "worker", "on": on}
        return ended

    def _keep_log(self, order: WorkOrder, answer: WorkAnswer) -> None:
        """Write the output of a task on another disk to the run's log, redacted by the rules of this
        machine."""
        if answer["log"] is None:
            return
        log = order["work"]["log"]
        os.makedirs(os.path.dirname(log), 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(log, flags, 0o600)
        try:
            if answer["left_out"]:
                left_out = f"[{answer['left_out']} bytes of output are left out here]\n"
                write_all(descriptor, left_out.encode())
            write_all(descriptor, self._redactor.text(answer["log"]).encode("utf-8", "replace"))
        finally:
            os.close(descriptor)

    def _end(self, ended: Ended) -> None:
        self._starts.pop(ended["mark"], None)
        self._ended.append(ended)

    # Where it stands

    def placed(self) -> list[tuple[str, str]]:
        placed, self._placed = self._placed, []
        return placed

    def _follow(self) -> None:
        """Take the reports of workers about starts that go on, and find out why others do not begin."""
        for told in self._link.take_reports():
            started = self._starts.get(told["mark"])
            if started is None or told["run"] != self._place.id:
                continue
            if started.on != told["on"]:
                started.on = told["on"]
                self._placed.append((told["mark"], told["on"]))
        now = time.monotonic()
        if not self._link.is_open or now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        waiting = [one for one in self._starts.values() if not one.on]
        unplaced = [one for one in waiting if now - one.since > LOOK_SECONDS * 2]
        self._lack = _find_lack(unplaced, self._link) if unplaced else ""

    def _reconnect(self) -> None:
        """Send what waits, or connect again. A scheduler that went away loses the starts that it had."""
        if self._link.is_open:
            for started in self._starts.values():
                if not started.is_sent:
                    self._send(started)
            return
        if not self._away_since:
            self._away_since = time.time()
            for mark in self._link.drop():
                if mark in self._starts:
                    lost = ended_of(mark, KILLED, "")
                    self._end({**lost, "lost": True, "why": self._went_away})
            self._left.clear()
            return
        if time.monotonic() - self._tried < AGAIN_SECONDS:
            return
        self._tried = time.monotonic()
        try:
            self._link.open()
        except HoldfastError:
            return
        self._away_since = 0.0
        self._link.run(worker.end_others, self._place.id, self._runner)

    # Ends

    def release(self, mark: str) -> None:
        if mark in self._left:
            self._end_there([mark], now=False)
            self._left.discard(mark)

    def end(self, *, now: bool = False) -> list[Ended]:
        """End everything here and on the workers. Workers that cannot be reached end it by
        themselves."""
        sent = [mark for mark, one in self._starts.items() if one.is_sent]
        self._end_there([*sent, *self._left], now=now)
        self._starts.clear()
        self._left.clear()
        if self._is_apart and self._courier is not None and not now:
            self._link.run(worker.forget_trees, self._place.id)
            self._courier.clean()
        return []

    def _end_there(self, marks: Sequence[str], *, now: bool) -> None:
        if not marks or not self._link.is_open:
            return
        # A worker that is frozen answers nothing: it ends what it has when it is let go on.
        patience = HASTE_SECONDS if now else GRACE_SECONDS + HASTE_SECONDS
        deadline = time.monotonic() + patience
        self._link.run(worker.end_starts, list(marks), now, seconds=patience)
        self._link.cancel(self._place.id, marks)
        while (left := deadline - time.monotonic()) > 0:
            answered = self._link.run(worker.alive, list(marks), seconds=left)
            if answered is not None and not _join_lists(answered):
                return
            time.sleep(POLL_SECONDS)

    def end_leftovers(self, marks: Sequence[str]) -> int:
        """End what an earlier runner left at work. Check before that that the workers can read what is
        sent and that it reaches them."""
        self._link.refuse_unfit()
        shared = self._shared()
        os.makedirs(self._place.own, 0o700, exist_ok=True)
        with open(shared["path"], "w", encoding="ascii") as file:
            file.write(shared["text"])
        seen = self._link.run(worker.is_shared, shared) or {}
        apart = [address for address, sees in seen.items() if sees is False]
        refuse_unreachable(self._courier, apart, self._folder)
        self._is_apart = bool(apart)
        self._link.cancel(self._place.id, marks)
        left = _join_lists(self._link.run(worker.end_others, self._place.id, self._runner) or {})
        self._end_there(left, now=True)
        # The earlier runner may have been one of this machine.
        return len(left) + len(self._place.end_leftovers())

    def _shared(self) -> SharedFiles:
        return {"path": os.path.join(self._place.own, "disk"), "text": self._runner}


class DaskCluster(Link):
    """A cluster as plans see it."""

    def __init__(self, address: str, certificates: Certificates, *, is_quiet: bool) -> None:
        if is_quiet:
            silence_dask()
        super().__init__(address, certificates)

    def count_slots(self) -> int | None:
        return sum(worker["threads"] for worker in self.workers() or ()) or None

    def make_executor(
        self, place: RunFolder, redactor: Redactor, state: RunState, settings: Mapping[str, Any]
    ) -> ClusterExecutor:
        root, by_git = state["root"], state["options"]["worktrees"]
        courier = Courier(root, place.id, settings["plan.remote"]) if by_git else None
        return ClusterExecutor(self, place, redactor, folder=root, courier=courier)


def _join_lists(answered: Mapping[str, object]) -> list[str]:
    """The marks in the answers of all workers. A worker that failed gave none."""
    return [mark for one in answered.values() if isinstance(one, list) for mark in one]


def _task_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the task adds to the runner's. A worker keeps its own for the rest: folders
    differ between machines, and the runner's secrets stay with the runner."""
    return {name: value for name, value in environment.items() if os.environ.get(name) != value}


def _find_lack(starts: Sequence[_Start], link: Link) -> str:
    """What the cluster lacks so that these starts can begin; empty if it lacks nothing."""
    workers = link.workers()
    if workers is None:
        return f"waiting for the scheduler at {link.address}, which does not answer"
    if not workers:
        return f"waiting for a worker: none is connected to {link.address}"
    for started in starts:
        needs = started.order["work"]["needs"]
        if needs and not any(_offers(one, needs) for one in workers):
            asked = " ".join(f"{name}={amount:g}" for name, amount in needs.items())
            offered = "; ".join(_offer(one) for one in workers[:5])
            more = f"; and {len(workers) - 5} more" if len(workers) > 5 else ""
            return f"{started.task} needs {asked}, which no worker offers ({offered}{more})"
    return ""


def _offers(one: Worker, needs: Mapping[str, float]) -> bool:
    return all(one["resources"].get(name, 0) >= amount for name, amount in needs.items())


def _offer(one: Worker) -> str:
    offered = " ".join(f"{name}={amount:g}" for name, amount in one["resources"].items())
    return f"{one['name']}: {offered or 'nothing'}"
