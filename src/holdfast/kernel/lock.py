"""One lock a workspace, held from load to project. It ends with its process."""

from __future__ import annotations

import fcntl
import os
import time
from _thread import allocate_lock, start_new_thread

from holdfast.kernel.errors import StoreAway

PATIENCE_SECONDS = 10.0
# How long a waiting process sleeps before it tries a second time, and between all tries where it can start
# no thread.
SHORT_PAUSE, LONG_PAUSE = 0.0005, 0.01
FILE = "lock"


class WorkspaceLock:
    """`flock` on a file that is never removed. A new descriptor each time, so threads exclude too."""

    def __init__(self, home: str, patience: float = PATIENCE_SECONDS, *, file: str = FILE) -> None:
        self._home = home
        self._file = file
        self._patience = patience
        self._descriptor = -1

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        os.close(self._descriptor)

    def acquire(self) -> None:
        """OSError where the lock's file cannot be opened, StoreAway where others hold it too long."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        path = f"{self._home}/{self._file}"
        try:
            self._descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(self._home, 0o700, exist_ok=True)
            self._descriptor = os.open(path, flags, 0o600)
        try:
            wait_for_lock(self._descriptor, self._patience)
        except BaseException:
            os.close(self._descriptor)
            raise


def wait_for_lock(descriptor: int, patience: float) -> None:
    """`flock` what is open; StoreAway where others hold it too long."""
    # The monotonic clock: a wall clock that steps must not make us wait for hours.
    end = time.monotonic() + patience
    if _try(descriptor):
        return
    time.sleep(SHORT_PAUSE)
    if _try(descriptor) or _wait_in_kernel(descriptor, end - time.monotonic()):
        return
    while time.monotonic() < end:
        time.sleep(LONG_PAUSE)
        if _try(descriptor):
            return
    raise StoreAway(
        f"Another process has held the workspace for {patience:.0f} s.",
        hint="Try again in a moment; `holdfast doctor` names the process.",
        kind="store_busy",
    )


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_in_kernel(descriptor: int, seconds: float) -> bool:
    """Stand in the kernel's queue: it wakes one writer when the lock is free, and lets them in by turns.
    Twenty writers that ask again and again take more of the processor than their writes.

    Only a signal ends such a wait, so a thread waits, with a descriptor of its own. If the lock comes too
    late, the thread gives it back by closing that descriptor, because the caller has closed the other."""
    is_held, duplicate = allocate_lock(), os.dup(descriptor)
    is_held.acquire()

    def wait() -> None:
        try:
            fcntl.flock(duplicate, fcntl.LOCK_EX)
            is_held.release()
        finally:
            os.close(duplicate)

    try:
        start_new_thread(wait, ())
    except RuntimeError:  # no more threads for this process
        os.close(duplicate)
        return False
    return is_held.acquire(timeout=max(0.0, seconds))
