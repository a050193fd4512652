"""What a runner keeps outside of the work tree: a lease that one process holds, notes about the programs at work,
and their output."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.kernel.errors import Conflict
from holdfast.kernel.workspace import Workspace
from holdfast.processes.identity import own
from holdfast.processes.programs import end_leftovers
from holdfast.processes.supervisor import Job, Stage

# The folders of the runners in a workspace's home, by feature; each runner has a folder of its own below.
HOMES = ("loop", "plans")
LOGS = "logs"


class RunnerFolder:
    """The folder of one runner."""

    def __init__(self, path: str) -> None:
        self.own = path
        self.lease = os.path.join(path, "run")
        self.jobs = os.path.join(path, "jobs")
        self.logs = os.path.join(path, LOGS)

    def log(self, name: str) -> str:
        """Return the path of an output."""
        return os.path.join(self.logs, os.path.basename(name))

    @contextmanager
    def hold(self, what: str, hint: str) -> Iterator[None]:
        """Hold the lease; a second runner is refused. It is the kernel's lock, which no crash leaves behind.

        Args:
            what: what is run, to begin a sentence with.
            hint: how a person sees how far it is.
        """
        os.makedirs(self.own, 0o700, exist_ok=True)
        descriptor = os.open(self.lease, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict(
                    f"{what} is being run already, by process {_holder(descriptor) or '?'}.",
                    hint=hint,
                    kind="running",
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(own()[0]).encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def find_runner(self) -> str:
        """Return the number of the process that holds the lease; empty when no process does."""
        return is_held(self.lease)

    def end_leftovers(self) -> list[int]:
        """End what a killed runner left behind, and return the processes."""
        return end_leftovers(self.jobs)

    def make_job(
        self,
        mark: str,
        log: str,
        stages: list[Stage],
        *,
        folder: str,
        environment: dict[str, str],
        seconds: float | None,
    ) -> Job:
        """Return a job with its output and its note in this folder. `environment` is added to that of this process."""
        return {
            "mark": mark,
            "stages": stages,
            "folder": folder,
            "environment": {**os.environ, **environment},
            "log": self.log(log),
            "own": self.jobs,
            "seconds": seconds,
        }


def is_held(path: str) -> str:
    """Return the number of the process that holds a lease; empty when no process does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        # Shared, so that two processes that look do not see each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return ""
    except BlockingIOError:
        return _holder(descriptor) or "?"
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode("ascii", "replace").strip()


# The outputs of all runners


def list_outputs(workspace: Workspace) -> list[str]:
    """Return the outputs of every track and every run."""
    return [
        os.path.join(parent, name)
        for home in HOMES
        for parent, _, names in os.walk(os.path.join(workspace.home, home))
        if os.path.basename(parent) == LOGS
        for name in sorted(names)
    ]


def remove_old_outputs(workspace: Workspace, before: int) -> int:
    """Remove the outputs that were last written before an instant, and return their number."""
    old = [path for path in list_outputs(workspace) if os.stat(path).st_mtime * 1000 < before]
    for path in old:
        os.unlink(path)
    return len(old)
