"""The track's lock: `mkdir .metadata.lock`, tried every 0.1 s, `rmdir`; the one that shell scripts take.

A crash leaves the folder behind, so each of our holders first takes a lock of the kernel's own, which
no crash leaves behind, and writes down who it is. A folder of ours (it has no right to write, which no
plain `mkdir` makes) whose holder is gone is then broken at once. Anybody else's is broken when it is
older than `loop.stale_lock_seconds`.
"""

from __future__ import annotations

import os
import stat
import time
from typing import TypedDict

from holdfast.kernel import canonical_json
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import NotAllowed, StoreAway, from_os_error
from holdfast.kernel.lock import wait_for_lock
from holdfast.kernel.tree_file import TreeFile, place_new
from holdfast.processes.identity import lives, own


class Broken(TypedDict):
    """A lock that was broken, and why that was right."""

    lock: str
    age_seconds: int
    holder: str


NAME = ".metadata.lock"
RETRY_SECONDS = 0.1
# A folder that its owner may not write to is ours, and stays empty.
OUR_MODE = 0o500
_OWNER_WRITES = stat.S_IWUSR


class LockTimeout(StoreAway):
    """Another process holds the track's lock for too long."""

    kind = "lock_timeout"


class TrackLock:
    """One track's lock, held from before the workspace's lock until the file is written."""

    def __init__(
        self, folder: TreeFile, guard: str, *, patience: float, stale_after: float
    ) -> None:
        self._file = folder.below(NAME)
        self.path = str(self._file)
        self._guard = guard
        self._patience = patience
        self._stale_after = stale_after
        self._descriptor = -1
        # The locks that were broken on the way, for the record.
        self.broken: list[Broken] = []

    def __enter__(self) -> TrackLock:
        deadline = time.monotonic() + self._patience
        self._take_guard(deadline)
        try:
            self._make(deadline)
        except OSError as error:
            self._let_go()
            raise from_os_error(error, f"taking the lock {self.path}") from error
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # Where that fails: broken by a process that took us for dead, or moved with its track.
        self._file.remove_folder()
        self._let_go()

    def _take_guard(self, deadline: float) -> None:
        """The kernel's lock among ourselves; without it, where the journal's folder is read-only."""
        try:
            os.makedirs(os.path.dirname(self._guard), 0o700, exist_ok=True)
            self._descriptor = os.open(self._guard, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        try:
            wait_for_lock(self._descriptor, deadline - time.monotonic())
        except StoreAway:
            os.close(self._descriptor)
            self._descriptor = -1
            raise self._timeout("another holdfast process") from None

    def _make(self, deadline: float) -> None:
        left_by = ""
        if self._descriptor >= 0:
            left_by = _holder(self._descriptor)
            process, since = own()
            text = canonical_json.dumps({"pid": process, "started": since})
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text.encode("ascii"), 0)
        while True:
            try:
                self._file.make_new_folder(OUR_MODE)
                return
            except FileExistsError:
                if self._break_if_dead(left_by):
                    continue
            if time.monotonic() > deadline:
                raise self._timeout("another tool")
            time.sleep(RETRY_SECONDS)

    def _break_if_dead(self, left_by: str) -> bool:
        """Break the lock that stands there if the rule allows it; whether it did."""
        status = self._file.status()
        if status is None:
            return True
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not stat.S_ISREG(status.st_mode):
            raise NotAllowed(
                f"{self.path} is in the way of the track's lock: it is neither a folder nor a file.",
                hint="If it came with the repository, remove it.",
                kind="strange_lock",
            )
        ours = is_folder and not status.st_mode & _OWNER_WRITES
        age = time.time() - status.st_mtime
        if not (ours and left_by) and age <= self._stale_after:
            return False
        aside = self._file.beside(f"{NAME}.broken-{new_id()[:8]}")
        try:
            self._file.rename(aside)
        except FileNotFoundError:
            return True
        moved = aside.status()
        if moved is None or moved.st_ino != status.st_ino:
            _put_back(aside, self._file)
            return False
        # Where others keep things in it, they stay there, out of the way.
        if is_folder:
            aside.remove_folder()
        else:
            aside.remove_if_any()
        holder = left_by if ours and left_by else "another tool"
        self.broken.append({"lock": self.path, "age_seconds": max(int(age), 0), "holder": holder})
        return True

    def _timeout(self, holder: str) -> LockTimeout:
        status = self._file.status()
        age = "it is free right now"
        if status is not None:
            age = f"it is {max(int(time.time() - status.st_mtime), 0)} s old"
        return LockTimeout(
            f"The lock {self.path} could not be had for {self._patience:g} s: {holder} holds it, "
            f"{age}.",
            hint=f"Try again. If its holder is gone: rmdir {self.path}; "
            f"after {self._stale_after:g} s holdfast breaks it by itself.",
        )

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            try:
                os.ftruncate(self._descriptor, 0)
            finally:
                os.close(self._descriptor)
                self._descriptor = -1


def _put_back(aside: TreeFile, file: TreeFile) -> None:
    """Give back a lock that another process took between our look and the rename."""
    try:
        place_new(aside, file)
    except OSError:
        aside.remove_folder()


def _holder(descriptor: int) -> str:
    """The holder that wrote its name down, never removed it, and lives no more; empty without one."""
    text = os.pread(descriptor, 200, 0).decode("ascii", "replace")
    if not text.strip():
        return ""
    try:
        known = canonical_json.loads(text)
        process, since = int(known["pid"]), str(known["started"])
    except (ValueError, KeyError, TypeError):
        return ""
    return "" if lives(process, since) else f"holdfast process {process}, which is gone"
