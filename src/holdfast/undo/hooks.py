"""What undo does at a client's events. The mark says that a state is being taken."""

from __future__ import annotations

import os
import time

from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

# In the private folder; the launcher makes it at a prompt that it keeps, and asks Python while it is there.
MARK = "taking"
LONGEST_PAUSE = 3.0
# Seconds. An older mark is of a process that died.
FORGOTTEN_AFTER = 20.0
_POLL = 0.01
# There is no git, or a folder without a repository is too large.
UNKEPT = ("git_missing", "too_large")


def mark(workspace: Workspace) -> None:
    """Say that a state is about to be taken."""
    path = os.path.join(workspace.prepare_private(), MARK)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError:
        return  # a pipe is in its place
    try:
        os.utime(descriptor)
    finally:
        os.close(descriptor)


def pause(workspace: Workspace) -> None:
    """Wait until the state before the prompt is taken, or for a few seconds."""
    deadline = time.monotonic() + LONGEST_PAUSE
    while _age(workspace) is not None:
        if time.monotonic() > deadline:
            _unlink(os.path.join(workspace.private, MARK))  # no other tool waits
            return
        time.sleep(_POLL)


def begin(workspace: Workspace, client: str, session: str, prompt: str, now: int) -> None:
    """A person asked a session for something: keep the work tree as it is now."""
    path = os.path.join(workspace.private, MARK)
    seen = _time_of(path)
    try:
        if is_on(workspace):
            from holdfast.undo.turns import begin as begin_turn

            asked_at = int(time.time() * 1000) if seen is None else seen // 1_000_000
            begin_turn(workspace, client, session, prompt, asked_at=asked_at, now=now)
    except HoldfastError as error:
        if error.kind not in UNKEPT:  # `holdfast undo` says why
            raise
    finally:
        # A prompt that came meanwhile has its own process.
        if seen is not None and _time_of(path) == seen:
            _unlink(path)


def end(workspace: Workspace, client: str, session: str, means: str, now: int) -> None:
    """A turn of a session ended: keep what it left."""
    if is_on(workspace):
        from holdfast.undo.turns import end as end_turn

        end_turn(workspace, client, session, means, now)


def is_on(workspace: Workspace) -> bool:
    """Return whether states are kept here."""
    from holdfast.kernel import config

    journal = workspace.journal if workspace.exists() else None
    return bool(config.load(workspace, journal)["undo.on"])


def _age(workspace: Workspace) -> float | None:
    at = _time_of(os.path.join(workspace.private, MARK))
    if at is None:
        return None
    age = abs(time.time() - at / 1e9)
    if age > FORGOTTEN_AFTER:
        _unlink(os.path.join(workspace.private, MARK))
        return None
    return age


def _time_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
