"""The forwarder: a small process, one a workspace, which ends when it is not needed.

It delivers the spool, executes what hooks left for the server to decide, and keeps the mirror. While
the server is away it asks again, ever less often; agents go on meanwhile.
"""

from __future__ import annotations

import fcntl
import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from holdfast.kernel import clock, failures, inbox
from holdfast.kernel.commit import take_in
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover, worktrees
from holdfast.remote.delivery import deliver
from holdfast.remote.mirror import Mirror
from holdfast.remote.offline import path_of
from holdfast.remote.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from holdfast.kernel.workspace import Workspace

    Ending = Literal["idle", "another", "asked"]

# Seconds without a hook after which it goes, if nothing is left to deliver; and after which it goes
# though something is, because the server is away. The next hook starts another.
IDLE_SECONDS = 5 * 60.0
AWAY_IDLE_SECONDS = 60 * 60.0
# Seconds between two looks at the spool, and at the number of the server's newest record.
POLL_SECONDS = 0.25
# Seconds after which this machine writes down again that it heard the server.
ASK_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# Seconds in which a hook that only looked whether there is a forwarder lets go of its place.
TAKING_SECONDS = 1.0
NAME = "forwarder"
# Seconds after which a place is tried again that another forwarder held.
THREAD_PAUSE_SECONDS = 30.0


class Forwarder:
    """One workspace's. `stays` is for a process that runs anyway, such as the page."""

    def __init__(self, folder: str, *, stays: bool = False) -> None:
        self.workspace = discover(folder)
        self.stays = stays
        self.ended = threading.Event()
        self._complaint = ""
        # Seconds until the next try, once something fails.
        self._pause = FIRST_PAUSE

    def run(self) -> Ending:
        """Until it is idle, or told to end; why it did."""
        lock = ForwarderLock(self.workspace, stays=self.stays)
        try:
            if not lock.take(within=TAKING_SECONDS):
                return "another"
            while True:
                ending = self._work(lock)
                lock.give_up()
                # A hook that came just now saw that there is a forwarder, and started none.
                if ending != "idle" or not lock.is_asked_anew() or not lock.take():
                    return ending
        finally:
            lock.close()
            self.workspace.close()

    def _work(self, lock: ForwarderLock) -> Ending:
        file = self.workspace.file()
        try:
            while not self.ended.is_set():
                try:
                    with ServerLink(self.workspace, Spool(file)) as line:
                        if self._serve(line, lock):
                            return "idle"
                except Exception as error:
                    if getattr(error, "kind", "") == "missing_extra":
                        raise  # no second try in this process finds psycopg
                    self._complain(error)
                if lock.is_unneeded(AWAY_IDLE_SECONDS):
                    return "idle"
                # Many machines lost the same server: they must not all come back at once.
                self.ended.wait(self._pause * (0.5 + random.random()))  # noqa: S311
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
            return "asked"
        finally:
            file.close()

    def _serve(self, line: ServerLink, lock: ForwarderLock) -> bool:
        """With the server there: whether it is time to go."""
        while not self.ended.is_set():
            line.work()
            self._pause = FIRST_PAUSE
            if lock.is_unneeded(IDLE_SECONDS) and (line.is_done() or lock.is_gone()):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _complain(self, error: Exception) -> None:
        """A server that is away is what this is for; anything else needs a person, and is said once."""
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, HoldfastError):
            message = error.message
        if isinstance(error, StoreAway) or message == self._complaint:
            return
        self._complaint = message
        failures.note(self.workspace, NAME, message, clock.now())


class ServerLink:
    """The connections to the server, as long as they last, and what goes over them."""

    def __init__(self, workspace: Workspace, spool: Spool) -> None:
        self.workspace = workspace
        self.spool = spool
        self._seen_version = -1
        self._asks_at = 0.0
        # The server's newest record at the last look.
        self._known = 0

    def __enter__(self) -> ServerLink:
        try:
            # Opened anew each time: what a dead connection left behind is gone with it.
            journal: Any = self.workspace.journal
            self.mirror = Mirror(self.workspace, self.spool, journal)
        except BaseException:
            self.workspace.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.workspace.close()

    def work(self) -> None:
        """Deliver what waits, then bring what is new."""
        # It changes when another process wrote to the file.
        row: Any = self.spool.file.connection().execute("PRAGMA data_version").fetchone()
        version = int(row[0])
        if version != self._seen_version:
            deliver(self.spool, self.mirror.server, self.workspace.home)
            self._seen_version = version if self.is_done() else -1
        self._take_in()
        is_due = time.monotonic() >= self._asks_at
        if is_due or self.mirror.server.last_number() != self._known:
            self._known = self.mirror.follow()
            self._asks_at = time.monotonic() + ASK_SECONDS

    def is_done(self) -> bool:
        return not self.spool.waiting()["records"]

    def _take_in(self) -> None:
        """Commands that hooks left, each in its worktree: they are decided on what the server has."""
        for root in worktrees(self.workspace):
            if inbox.list_waiting(root):
                there = self.workspace.at(root)
                try:
                    take_in(open_writer(there), [root])
                finally:
                    there.close()


class ForwarderLock:
    """The lock that one forwarder a workspace holds; it dies with its process. Its file also says when a
    process last needed a forwarder, and the monotonic clock, which cannot be set, how long ago that was."""

    def __init__(self, workspace: Workspace, *, stays: bool) -> None:
        os.makedirs(workspace.home, 0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(path_of(workspace), flags, 0o600)
        self._stays = stays
        self._asked_at = os.fstat(self._descriptor).st_mtime_ns
        self._since = time.monotonic()

    def take(self, *, within: float = 0.0) -> bool:
        """Whether it was free within so many seconds."""
        deadline = time.monotonic() + within
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.02)
            else:
                return True

    def is_gone(self) -> bool:
        """Whether the file was removed, with the workspace or because there is no server any more."""
        return os.fstat(self._descriptor).st_nlink == 0

    def is_asked_anew(self) -> bool:
        """Whether a process needed a forwarder since this was last looked at."""
        asked_at = os.fstat(self._descriptor).st_mtime_ns
        if asked_at == self._asked_at:
            return False
        self._asked_at, self._since = asked_at, time.monotonic()
        return True

    def is_unneeded(self, after: float) -> bool:
        """Whether no process has needed a forwarder for so many seconds."""
        self.is_asked_anew()
        is_silent = not self._stays and time.monotonic() - self._since > after
        return is_silent or self.is_gone()

    def give_up(self) -> None:
        """Release the lock, and still see whether a forwarder is needed."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)


@contextmanager
def run_forwarders(folders: Sequence[str]) -> Iterator[None]:
    """Forward for every workspace whose journal is on a server, as long as the block runs."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=_forward, args=(folder, ended), name=f"forwarder {folder}")
        for folder in folders
        if _has_server(folder)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _has_server(folder: str) -> bool:
    try:
        return bool(discover(folder).url)
    except HoldfastError:
        return False  # every command on that workspace says it


def _forward(folder: str, ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            forwarder = Forwarder(folder, stays=True)
            forwarder.ended = ended
            forwarder.run()
        except HoldfastError as error:
            failures.note(discover(folder), NAME, error.message, clock.now())
            if error.kind == "missing_extra":
                return
        ended.wait(THREAD_PAUSE_SECONDS)
