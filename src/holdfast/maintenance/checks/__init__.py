"""The checks of `doctor`. Each says what it found, why that matters, and what to do."""

from __future__ import annotations

import errno
import os
import pwd
import tempfile


def explain_read_only(path: str) -> str:
    """Return who must change what, so that this process can write a file or folder; empty if it can. What does not
    exist yet is made in the nearest folder that does."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    if _can_write(path):
        return ""
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return (
            f"{path} is on a file system that is mounted read-only. The administrator of this machine, or "
            "of the sandbox around this process, makes it writable."
        )
    owner = os.stat(path).st_uid
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    return (
        f"The user {name}, who owns {path}, makes it writable for this user, or allows it in the sandbox "
        "around this process."
    )


def _can_write(path: str) -> bool:
    if not os.path.isdir(path):
        return os.access(path, os.W_OK)
    try:
        # Some sandboxes refuse a write that `os.access` allows.
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS)
    return True
