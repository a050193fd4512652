"""Work without the server: what an agent says of itself is kept on this machine, and a forwarder is
started to deliver it."""

from __future__ import annotations

import fcntl
import os

from holdfast.kernel import clock, config
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.plain_file import unlink_if_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.kernel.workspace import Workspace

FILE = "forward"
SETTING = "journal.forwarder"
# Milliseconds that a new forwarder has to take its lock before another one is started.
STARTING = 10_000


def can_work_offline(operation: Callable[..., Any]) -> bool:
    return getattr(operation, "works_offline", False)


def reachable(workspace: Workspace) -> tuple[Workspace, str]:
    """The workspace; where its server is away the same one without it, and why."""
    if not workspace.url:
        return workspace, ""
    try:
        _ = workspace.journal
    except StoreAway as away:
        return workspace.offline(), away.message
    return workspace, ""


def away_message(operation: Callable[..., Any], why: str) -> str:
    """What a caller must know of an operation that went on without the server."""
    if getattr(operation, "reads_offline", False):
        return (
            "The server is away, so this is what this machine knows; notes, and the work of other machines, "
            f"are missing. {why}"
        )
    return f"Kept here, not yet on the server: {why}"


def add_offline_hint(error: HoldfastError, why: str) -> HoldfastError:
    """A refusal that is only the best of this machine's knowledge."""
    error.hint = f"That is what this machine knows. {why} {error.hint}".strip()
    return error


def path_of(workspace: Workspace) -> str:
    return os.path.join(workspace.home, FILE)


def start_forwarder(workspace: Workspace) -> bool:
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
    # First say that a forwarder is needed, then look for one. A forwarder that is about to end does it
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
        return False  # every command says it
    unlink_if_any(path_of(workspace))
    return False
