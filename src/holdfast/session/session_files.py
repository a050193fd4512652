"""The slot of a client's session: small files of its own in the private folder, so that twenty sessions at
once share nothing. A hook reads and writes them without the journal.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.canonical_json import read_table
from holdfast.kernel.digest import id_of
from holdfast.kernel.plain_file import list_names, modified_at, unlink_if_any, write_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from holdfast.kernel.workspace import Workspace

FOLDER = "slots"
# Where the client writes the session down.
TRANSCRIPT = "transcript"
# A person or a program read the session's pack to go on with it.
RESUMED = "resumed"
# The conversation was replaced by the pack: the start that follows in the same session does not give it a
# second time.
REPLACED = "replaced"
# The context was cut down, and the client says nothing afterwards: the next event brings the pack.
COMPACTED = "compacted"
# A session's start leaves a file of this name and its reason; an event before any start leaves the second.
STARTED = "start-"
UNNOTICED = f"{STARTED}unnoticed"
# The reset of the usage limit that the session was last seen to have used up.
FULL = "full"
# The session that a person handed over to the client with its first prompt.
HANDED_OVER_VARIABLE = "_HOLDFAST_HANDED_OVER"
# What a person asked the session for last, until a process that no client waits for has read it.
ASKED = "asked"
# Of the processes of a copy of a session that is asked one question: no work.
COPY_VARIABLE = "_HOLDFAST_COPY"
# Beside the slots; its time is that of the last sweep.
SWEPT = ".swept"
# A slot that was not touched for so long belongs to a session that was killed.
FORGOTTEN_AFTER = 7 * clock.DAY


def folder_of(workspace: Workspace, session: str) -> str:
    name = id_of(session.encode("utf-8", "replace").decode())
    return os.path.join(workspace.private, FOLDER, name)


def read(workspace: Workspace, session: str, name: str) -> dict[str, Any]:
    """What was kept under a name; nothing when it is not there, or damaged."""
    return read_table(os.path.join(folder_of(workspace, session), name))


def read_texts(path: str, names: Sequence[str]) -> Any:
    """Return what another small file keeps; None unless it has a text under each of these names."""
    value = read_table(path)
    return value if all(isinstance(value.get(name), str) for name in names) else None


def list_small_files(folder: str) -> Iterator[str]:
    """Return the small files in a folder, without those that are being written."""
    return (os.path.join(folder, name) for name in list_names(folder) if not name.endswith("~"))


def every(workspace: Workspace, name: str) -> list[dict[str, Any]]:
    """What all the slots of this worktree keep under a name, of all sessions."""
    parent = os.path.join(workspace.private, FOLDER)
    found = (read_table(os.path.join(parent, folder, name)) for folder in list_names(parent))
    return [value for value in found if value]


def keep(workspace: Workspace, session: str, name: str, value: dict[str, Any]) -> None:
    """OSError where it cannot be written: a caller that counts on it must know. Not synced: it matters as
    long as the session runs, and no session outlives its machine."""
    path = os.path.join(_prepare(workspace, session), name)
    write_aside(path, canonical_json.dumps(value).encode())


def remember_transcript(workspace: Workspace, session: str, path: str) -> None:
    """Keep where the client writes a session down, as the client said."""
    if session and path and read(workspace, session, TRANSCRIPT).get("path") != path:
        keep(workspace, session, TRANSCRIPT, {"path": path})


def has_started(workspace: Workspace, session: str) -> bool:
    """Whether a start of the session was seen."""
    return any(name.startswith(STARTED) for name in list_names(folder_of(workspace, session)))


def drop(workspace: Workspace, session: str, name: str) -> None:
    unlink_if_any(os.path.join(folder_of(workspace, session), name))


def seen_at(workspace: Workspace, session: str, name: str) -> int | None:
    """When something was last written, or touched, under a name."""
    return modified_at(os.path.join(folder_of(workspace, session), name)) or None


def is_due(workspace: Workspace, session: str, name: str, every: int, now: int) -> bool:
    """Whether `every` has passed since the last time; if so, the interval begins anew. A clock that was set back
    is no reason to wait. Of several hooks at once, one gets True."""
    import fcntl

    try:
        path = os.path.join(_prepare(workspace, session), name)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        last = status.st_mtime_ns // 1_000_000
        if status.st_size and 0 <= now - last < every:
            return False
        if not status.st_size:
            os.write(descriptor, b"1")
        os.utime(descriptor, ns=(now * 1_000_000, now * 1_000_000))
        return True
    except BlockingIOError:
        return False  # another hook of the same moment
    except OSError:
        return True
    finally:
        os.close(descriptor)


def end(workspace: Workspace, session: str) -> None:
    _remove(folder_of(workspace, session))


def sweep(workspace: Workspace, now: int) -> None:
    """Remove the slots of sessions without an end, once a day."""
    parent = os.path.join(workspace.private, FOLDER)
    if not _begin_sweep(os.path.join(parent, SWEPT), now):
        return
    for name in list_names(parent):
        folder = os.path.join(parent, name)
        if modified_at(folder) < now - FORGOTTEN_AFTER:
            _remove(folder)


def _begin_sweep(swept: str, now: int) -> bool:
    """Whether the last sweep is a day ago; if so, the day begins anew."""
    if abs(now - modified_at(swept)) < clock.DAY:
        return False
    try:
        os.close(os.open(swept, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        os.utime(swept, ns=(now * 1_000_000, now * 1_000_000))
    except OSError:
        return False  # a folder that cannot be written is not swept either
    return True


def _prepare(workspace: Workspace, session: str) -> str:
    folder = folder_of(workspace, session)
    if not os.path.isdir(folder):
        workspace.prepare_private(FOLDER)
        os.makedirs(folder, 0o700, exist_ok=True)
    return folder


def _remove(folder: str) -> None:
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        return
