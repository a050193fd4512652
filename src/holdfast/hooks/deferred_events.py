"""Events that the launcher kept in files because they needed no answer.

The launcher starts a process for each, which the client does not wait for. Whatever keeps that process
from its end, the file stays, and the next process finishes it: a later hook, a session's start, a command.
One process works at a time in a worktree.
"""

from __future__ import annotations

import fcntl
import os
import time

from holdfast.clients.table import CLIENTS, safe_id
from holdfast.kernel import clock, failures
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.workspace import discover
from holdfast.session import session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


LARGEST_EVENT = 64 * 1024 * 1024
FOLDER = "pending"
_LOCK = ".lock"
# Seconds. What is left to others is finished by others; a session's start needs it.
LONGEST_WAIT = 5.0
LONGEST_APART = 60.0
_POLL = 0.005
# Milliseconds without a word, after which the client has written its payload.
LONGEST_SILENCE = 50
# Milliseconds in which the launcher has surely written a payload to its end.
BEING_WRITTEN = 5_000
# An event whose process died so often is not tried again.
MOST_ATTEMPTS = 3


def finish_apart(root: str) -> None:
    """In a process of its own, started by the launcher: finish what is kept in a worktree."""
    os.setsid()
    os.chdir(root)
    _empty_the_pipe()
    finish(discover(root, local=True), LONGEST_APART)


def _empty_the_pipe() -> None:
    """Take what the client still writes: it may have gone on, but for a payload larger than a pipe it
    waits, and some clients call a payload that was not taken an error."""
    import select

    pipe = select.poll()
    pipe.register(0, select.POLLIN)
    while pipe.poll(LONGEST_SILENCE):
        if not os.read(0, 1 << 16):
            return


def finish_here(workspace: Workspace) -> None:
    """For a command: finish what is kept in its worktree, unless a sandbox keeps it from the journal."""
    is_kept = bool(_kept(os.path.join(workspace.private, FOLDER)))
    if is_kept and os.access(workspace.home, os.W_OK):
        finish(discover(workspace.root, local=True), LONGEST_WAIT)


def finish(workspace: Workspace, patience: float) -> None:
    """Finish every event that is kept here, the oldest first. While another process does so, wait as long
    as `patience` says."""
    folder = os.path.join(workspace.private, FOLDER)
    if not _kept(folder):
        return
    try:
        descriptor = os.open(
            os.path.join(folder, _LOCK),
            os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o600,
        )
    except OSError:
        return
    try:
        if _lock(descriptor, time.monotonic() + patience):
            for kept in _kept(folder):
                _finish_one(workspace, kept)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)


def _finish_one(workspace: Workspace, kept: DeferredEvent) -> None:
    from holdfast.hooks.run import respond_to, understood

    now = clock.now()
    hook = f"{kept.client} {kept.event}"
    try:
        payload = understood(read_plain(kept.path, LARGEST_EVENT))
    except FileNotFoundError:
        return
    except (OSError, HoldfastError):
        if now - os.stat(kept.path).st_mtime_ns // 1_000_000 < BEING_WRITTEN:
            return  # the launcher is writing it, and starts a process for it
        payload = {}
    if kept.attempts >= MOST_ATTEMPTS:
        reason = f"No process could finish this event in {MOST_ATTEMPTS} attempts; it was left out."
        failures.note(workspace, hook, reason, now)
        os.unlink(kept.path)
        return
    tried = f"{kept.path}~"
    os.rename(kept.path, tried)
    payload.setdefault(
        "session_id", "" if CLIENTS[kept.client].has_nameless_hooks else kept.session
    )
    # A file that others could write names no path: the session's own record does.
    session = safe_id(str(payload["session_id"] or ""))
    known = session_files.read(workspace, session, session_files.TRANSCRIPT)
    payload.pop("transcriptPath", None)
    payload["transcript_path"] = known.get("path", "")
    respond_to(
        kept.client,
        kept.event,
        payload,
        may_leave=False,
        project=workspace.root,
        kept_as=kept.session,
    )
    os.unlink(tried)


class DeferredEvent:
    """A file of the launcher's, by its name: CLIENT.EVENT.SESSION.PID, and a ~ for each attempt."""

    def __init__(self, folder: str, name: str) -> None:
        self.path = os.path.join(folder, name)
        self.client, _, rest = name.rstrip("~").partition(".")
        self.event, _, rest = rest.partition(".")
        self.session = rest.rpartition(".")[0]
        self.attempts = len(name) - len(name.rstrip("~"))
        try:
            self.at = os.stat(self.path).st_mtime_ns
        except OSError:
            self.at = 0


def _kept(folder: str) -> list[DeferredEvent]:
    """The oldest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [DeferredEvent(folder, name) for name in names if name != _LOCK]
    return sorted((kept for kept in found if kept.at), key=lambda kept: kept.at)
