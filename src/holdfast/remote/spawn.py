"""Starting a forwarder, by whoever just left something for it: a hook, or the start of a life.

One file in the workspace's home is its lock while it runs, and says by its time that somebody is at
work here. Without a server there is no such file, and a hook looks no further.
"""

from __future__ import annotations

import fcntl
import os

from holdfast.kernel import clock, config
from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

FILE = "forward"
SETTING = "journal.forwarder"
# Until one that was just started holds its lock, nobody starts another.
STARTING = 10_000


def path_of(workspace: Workspace) -> str:
    return os.path.join(workspace.home, FILE)


def start(workspace: Workspace) -> bool:
    """Start a forwarder unless there is one; whether that was needed. What cannot be done here is no
    reason for a hook to fail: the records are safe, and the next one tries again."""
    path = path_of(workspace)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        if not _is_needed(descriptor):
            return False
    except OSError:
        return False
    finally:
        os.close(descriptor)
    if not _is_wanted(workspace):
        return False
    from holdfast.processes.relaunch import command, leave

    return leave(command("journal", "forward", "-C", workspace.root))


def _is_needed(descriptor: int) -> bool:
    # First that somebody is at work, then whether there is a forwarder: one that is about to go looks
    # the other way round, so that one of the two sees the other.
    os.utime(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    now, started = clock.now(), os.pread(descriptor, 20, 0)
    if started.isdigit() and 0 <= now - int(started) < STARTING:
        return False
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(now).encode(), 0)
    return True


def _is_wanted(workspace: Workspace) -> bool:
    """Whether the settings name a server that may be used, and leave the forwarder to us."""
    from holdfast.remote.address import address_of

    try:
        if address_of(workspace):
            journal = workspace.journal if workspace.local else None
            return bool(config.load(workspace, journal)[SETTING])
    except HoldfastError:
        return False  # said by every command that somebody runs
    try:
        os.unlink(path_of(workspace))
    except OSError:
        pass
    return False


class Post:
    """The forwarder's place, of which there is one a workspace; it dies with its process."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, workspace: Workspace) -> None:
        os.makedirs(workspace.home, 0o700, exist_ok=True)
        self._path = path_of(workspace)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        """Whether it was free."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def asked_at(self) -> int:
        """When somebody last needed a forwarder."""
        return os.fstat(self._descriptor).st_mtime_ns // 1_000_000

    def is_gone(self) -> bool:
        """Whether the place was removed, with the workspace or because there is no server any more."""
        return os.fstat(self._descriptor).st_nlink == 0

    def give_up(self) -> None:
        """Let others have it, and still see whether somebody asks."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def leave(self) -> None:
        os.close(self._descriptor)
