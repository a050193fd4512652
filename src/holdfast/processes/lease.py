"""One run at a time: the kernel's lock, which no crash leaves behind."""

from __future__ import annotations

import fcntl
import os

from holdfast.kernel.errors import Conflict
from holdfast.processes.identity import own


class Lease:
    """Held for as long as a run lasts; a second run is refused. `what` is run, `hint` shows how far."""

    def __init__(self, path: str, what: str, hint: str) -> None:
        self._path = path
        self._what = what
        self._hint = hint
        self._descriptor = -1

    def __enter__(self) -> None:
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise Conflict(
                f"{self._what} is being run already, by process {holder or '?'}.",
                hint=self._hint,
                kind="running",
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(own()[0]).encode(), 0)

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def is_held(path: str) -> str:
    """The number of the process that holds a lease; empty when no process does."""
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
