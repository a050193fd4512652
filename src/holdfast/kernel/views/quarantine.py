"""Quarantine: what stood at a view's place and could not be understood is kept, never dropped."""

from __future__ import annotations

import os
import stat

from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.plain_file import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def keep(workspace: Workspace, place: str, now: int) -> str:
    """Copy a file (or write down a link) into quarantine; where it is now.

    The copy is private to its owner and not redacted: it is the user's own text.
    """
    folder = workspace.quarantine
    os.makedirs(folder, 0o700, exist_ok=True)
    when = clock.stamp(now).replace(":", "").replace("-", "")
    kept = os.path.join(folder, f"{when}-{new_id()[:8]}-{os.path.basename(place)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    destination = os.open(kept, flags, 0o600)
    try:
        if stat.S_ISLNK(os.lstat(place).st_mode):
            os.write(destination, b"link to " + os.fsencode(os.readlink(place)) + b"\n")
        else:
            _copy(place, destination)
        os.fsync(destination)
    except BaseException:
        os.unlink(kept)
        raise
    finally:
        os.close(destination)
    return kept


def _copy(place: str, destination: int) -> None:
    """Chunk by chunk: the file may be far larger than memory should be."""
    source = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while chunk := os.read(source, 1 << 20):
            write_all(destination, chunk)
    finally:
        os.close(source)


def listing(workspace: Workspace) -> list[str]:
    try:
        names = sorted(os.listdir(workspace.quarantine))
    except FileNotFoundError:
        return []
    return [os.path.join(workspace.quarantine, name) for name in names]


def clear(workspace: Workspace, before: int) -> int:
    """Remove what is older than an instant; how many files that were."""
    removed = 0
    for path in listing(workspace):
        if os.stat(path).st_mtime * 1000 < before:
            os.unlink(path)
            removed += 1
    return removed
