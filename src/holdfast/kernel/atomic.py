"""Writing whole files: all of it, synced, or nothing."""

from __future__ import annotations

import errno
import os

# There is no room for data: a file can still be made, with nothing in it.
FULL = (errno.ENOSPC, errno.EDQUOT)


def write_all(descriptor: int, content: bytes) -> None:
    """A nearly full disk may take a part of what it is given, and say so."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def write_synced(path: str, content: bytes, mode: int = 0o600) -> None:
    """A whole, synced file under its name, or none: written aside and renamed. Private by default."""
    unfinished = f"{path}.{os.getpid()}.unfinished"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(unfinished, flags, 0o600)
    try:
        if mode != 0o600:
            os.fchmod(descriptor, mode)
        write_all(descriptor, content)
        os.fsync(descriptor)
        os.rename(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise
    finally:
        os.close(descriptor)
