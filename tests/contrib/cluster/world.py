"""A Dask cluster on this machine, and runs of plans on it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.contrib.cluster.executor import DaskCluster
from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError
from holdfast.plans.executors import Certificates
from holdfast.plans.news import Interrupts
from holdfast.plans.runner import Execution, Runner
from holdfast.plans.runs import RunFolder
from tests.plans.world import World
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


NURSERY = Path(__file__).with_name("nursery.py")


class Nursery:
    """Starts schedulers and workers quickly; what it started ends with it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(NURSERY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, **order: Any) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Cluster:
    """One scheduler, always at the same address, and its workers."""

    def __init__(
        self, nursery: Nursery, folder: Path, tls: Certificates | None = None, **more: Any
    ) -> None:
        self._nursery = nursery
        self._folder = folder
        self.tls = tls
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{self.port}"
        self.scheduler = 0
        self.workers: dict[str, int] = {}
        self.start_scheduler(**more)

    def start_scheduler(self, **more: Any) -> None:
        self.scheduler = self._start("scheduler", do="scheduler", port=self.port, **more)
        wait_for(self._answers)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def start_worker(
        self,
        name: str,
        threads: int = 2,
        needs: Mapping[str, float] | None = None,
        **more: Any,
    ) -> int:
        self.workers[name] = self._start(
            name,
            do="worker",
            address=self.address,
            threads=threads,
            needs=dict(needs or {}),
            **more,
        )
        return self.workers[name]

    def _start(self, name: str, **order: Any) -> int:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        tls = dict(zip(("ca", "cert", "key"), self.tls, strict=True)) if self.tls else None
        log = str(self._folder / f"{name}.log")
        order["environment"] = {"WORKER": name, **order.pop("environment", {})}
        return self._nursery.start(name=name, folder=str(folder), log=log, tls=tls, **order)

    def kill(self, name: str) -> None:
        os.kill(self.workers.pop(name), signal.SIGKILL)

    def kill_scheduler(self) -> None:
        os.kill(self.scheduler, signal.SIGKILL)
        self.scheduler = 0

    def said(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def close(self) -> None:
        for process in [*self.workers.values(), self.scheduler]:
            if process:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


class ClusterWorld(World):
    """Plans of one repository, run on a cluster."""

    def __init__(self, root: Path, cluster: Cluster) -> None:
        super().__init__(root)
        self.cluster = cluster
        self.link = DaskCluster(cluster.address, cluster.tls or Certificates(), is_quiet=False)
        self.link.open()

    def runner(self, *, attendant: Any = None, **options: Any) -> Runner:
        place = RunFolder(self.workspace, self.id)
        settings = config.load(self.workspace, self.workspace.journal)
        executor = self.link.make_executor(place, self.writer.redactor, self.state(), settings)
        interrupts = options.pop("interrupts", None) or Interrupts()
        return Runner(self.context(attendant), executor, Execution(**options), interrupts)

    def wait_for_workers(self, count: int) -> None:
        wait_for(lambda: len(self.link.workers() or ()) == count)

    def refused(self) -> HoldfastError:
        """What a run is refused with, before anything is started."""
        try:
            self.run()
        except HoldfastError as error:
            return error
        raise AssertionError("the run was not refused")

    def close(self) -> None:
        self.link.close()
        super().close()


def meanwhile(does: Callable[[], object]) -> threading.Thread:
    """Do something while a run goes on in this process."""
    thread = threading.Thread(target=does, daemon=True)
    thread.start()
    return thread
