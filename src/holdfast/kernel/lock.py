"""One lock a workspace, held from load to project. It dies with its process: nothing goes stale."""

from __future__ import annotations

import fcntl
import os
import time

from holdfast.kernel.errors import StoreAway

PATIENCE_SECONDS = 10.0
# How long a waiting process sleeps between two tries, at first and at most: a share of what it has waited.
# Of twenty writers that ask every two milliseconds, each takes as much of the processor as its own write.
SHORT_PAUSE, LONG_PAUSE = 0.0005, 0.01
FILE = "lock"


class WorkspaceLock:
    """`flock` on a file that is never removed. A new descriptor each time, so threads exclude too."""

    __slots__ = ("_descriptor", "_file", "_home", "_patience")

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
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
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
    # Asking again and again instead of waiting in the kernel, which only a signal could end.
    # The monotonic clock: a wall clock that steps must not make us wait for hours.
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            waited = time.monotonic() - began
            if waited > patience:
                raise StoreAway(
                    f"Another process has held the workspace for {patience:.0f} s.",
                    hint="Try again in a moment; `holdfast doctor` names the process.",
                    kind="store_busy",
                ) from None
        time.sleep(min(max(SHORT_PAUSE, waited / 8), LONG_PAUSE))
