"""Bounds of time that a busy machine does not reach."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TICK_SECONDS, BUSY_SECONDS = 0.05, 0.001


def is_any_at_work(process: str) -> bool:
    """Return whether a descendant of a process runs, or wants the processor or the disk."""
    folder = Path("/proc", process, "task")
    try:
        tasks = os.listdir(folder)
        children = [
            child for task in tasks for child in (folder / task / "children").read_text().split()
        ]
        states = [
            Path("/proc", child, "stat").read_text().rpartition(")")[2].split()[0]
            for child in children
        ]
    except OSError:
        return os.path.isdir("/proc/self")  # one of them has just ended
    return any(
        state in "RD" or is_any_at_work(child)
        for state, child in zip(states, children, strict=True)
    )


@contextmanager
def within(seconds: float, what: object) -> Iterator[None]:
    """Refuse more than these seconds in which none of our processes wants the processor: a busy machine is no
    reason to fail."""
    waited, used = 0.0, time.process_time()

    def look(*_: object) -> None:
        nonlocal waited, used
        before, used = used, time.process_time()
        if used - before < BUSY_SECONDS and not is_any_at_work(str(os.getpid())):
            waited += TICK_SECONDS
            if waited > seconds:
                raise AssertionError(f"{what} waits")
        used = time.process_time()

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
