"""What a runner and a worker say to each other: plain data, nothing that would be called."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.plans.executors import TaskWork
    from holdfast.processes.supervisor import Ended


class SharedFiles(TypedDict):
    """A file beside the run, and what is in it: whoever reads the same sees the same disk."""

    path: str
    text: str


class WorkSource(TypedDict):
    """Where a plan's work tree comes from by git: the repository, the ref to begin with, the commit
    that it stands at, the ref for what the task makes, and the run's folder below the top."""

    remote: str
    ref: str
    commit: str
    result: str
    inside: str
    plan: str
    run: str


class WorkOrder(TypedDict):
    """One start of one task, for whichever worker gets it. `log` is the file on a shared disk."""

    version: str
    run: str
    runner: str
    work: TaskWork
    log: str
    shared: SharedFiles
    source: WorkSource | None


class WorkAnswer(TypedDict):
    """How a start ended, where it was, the end of what it said, and the commit that it made. `apart`:
    the worker does not see the run's disk. `unfit`: it could not be tried there."""

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
# A task at work for so long is told of.
TOLD_SECONDS = 1.0
# So much of the end of what a task said comes back.
LOG_BYTES = 256 * 1024


def key_of(run: str, mark: str) -> str:
    """What Dask calls a start: all of a run begin alike."""
    return f"holdfast-{run}-{mark}"


def mark_of(key: str) -> str:
    """The mark in a key of ours; empty for anybody else's."""
    return key.rpartition("-")[2] if key.startswith("holdfast-") else ""
