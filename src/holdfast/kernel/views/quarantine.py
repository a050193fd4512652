"""Quarantine: what stood at a view's place and could not be understood is kept, never dropped."""

from __future__ import annotations

import errno
import os

from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.plain_file import open_plain, write_all
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.workspace import Workspace


def keep(workspace: Workspace, place: TreeFile | str, now: int) -> str:
    """Copy a file (or write down a link) into quarantine; where it is now.

    The copy is private to its owner and not redacted: it is the user's own text.
    """
    folder = workspace.quarantine
    os.makedirs(folder, 0o700, exist_ok=True)
    when = clock.stamp(now).replace(":", "").replace("-", "")
    kept = os.path.join(folder, f"{when}-{new_id()[:8]}-{os.path.basename(str(place))}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    destination = os.open(kept, flags, 0o600)
    try:
        aim = _aim_of(place)
        if aim:
            os.write(destination, b"link to " + os.fsencode(aim) + b"\n")
        else:
            _copy(place, destination)
        os.fsync(destination)
    except BaseException:
        os.unlink(kept)
        raise
    finally:
        os.close(destination)
    return kept


def _aim_of(place: TreeFile | str) -> str:
    """Where a link leads; empty for anything else."""
    try:
        return os.readlink(place) if isinstance(place, str) else place.link()
    except OSError:
        return ""


def _copy(place: TreeFile | str, destination: int) -> None:
    """Chunk by chunk: the file may be far larger than memory should be."""
    try:
        source = open_plain(place) if isinstance(place, str) else place.open()
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        os.write(destination, b"not a regular file\n")
        return
    try:
        while chunk := os.read(source, 1 << 20):
            write_all(destination, chunk)
    finally:
        os.close(source)


def list_kept(workspace: Workspace) -> list[str]:
    try:
        names = sorted(os.listdir(workspace.quarantine))
    except FileNotFoundError:
        return []
    return [os.path.join(workspace.quarantine, name) for name in names]


def clear(workspace: Workspace, before: int) -> int:
    """Remove what is older than an instant; how many files that were."""
    removed = 0
    for path in list_kept(workspace):
        if os.stat(path).st_mtime * 1000 < before:
            os.unlink(path)
            removed += 1
    return removed
