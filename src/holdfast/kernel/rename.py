"""Renames that the standard library has not: swapping two names in one step, and taking only a name that is free."""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The descriptor that stands for the current folder: a name is then a path.
HERE = -100 if sys.platform.startswith("linux") else -2
_NOREPLACE, _EXCHANGE = (1, 2) if sys.platform.startswith("linux") else (4, 2)
# The system's call, looked up once: to look it up costs as much as the rename.
_call: list[Callable[[int, bytes, int, bytes, int], int] | None] = []
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def exchange_names(here: int, one: str, there: int, other: str) -> bool:
    """Swap two existing names in two folders. False where the system cannot: then it was a plain rename.

    The plain rename is racy: an edit between our look and the rename is lost. It happens only on
    file systems without the call, and `doctor` says so.
    """
    if _rename(here, one, there, other, _EXCHANGE):
        return True
    os.rename(one, other, src_dir_fd=_or_none(here), dst_dir_fd=_or_none(there))
    return False


def take_name(here: int, one: str, there: int, other: str) -> None:
    """Rename to a name that must not exist; FileExistsError when it does."""
    if not _rename(here, one, there, other, _NOREPLACE):
        at, to = _or_none(here), _or_none(there)
        os.link(one, other, src_dir_fd=at, dst_dir_fd=to, follow_symlinks=False)
        os.unlink(one, dir_fd=at)


def place_new(one: str, other: str) -> None:
    """Rename to a path that must not exist; FileExistsError when it does. For folders of our own."""
    take_name(HERE, one, HERE, other)


def is_supported(folder: str) -> bool:
    """Return whether the file system of a folder can exchange; tried out, since nothing else tells."""
    names = [os.path.join(folder, f".exchange-{os.urandom(8).hex()}") for _ in range(2)]
    flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
    made = []
    try:
        for name in names:
            os.close(os.open(name, flags, 0o600))
            made.append(name)
        return _rename(HERE, names[0], HERE, names[1], _EXCHANGE)
    finally:
        for name in made:
            os.unlink(name)


def _or_none(folder: int) -> int | None:
    return None if folder == HERE else folder


def _rename(here: int, one: str, there: int, other: str, flags: int) -> bool:
    # `ctypes` itself, with the types that it makes, costs a hook a tenth of an interpreter.
    from _ctypes import get_errno

    if not _call:
        _call.append(_of_the_system())
    if _call[0] is None:
        return False
    if _call[0](here, os.fsencode(one), there, os.fsencode(other), flags) == 0:
        return True
    code = get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), other)


def _of_the_system() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """The C library's rename with flags; None where there is none."""
    from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, CFuncPtr, dlopen, dlsym

    class Function(CFuncPtr):
        _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO

    library = dlopen(None, 0)  # type: ignore[arg-type]  # None is this program itself
    for name in ("renameat2", "renameatx_np"):
        try:
            return Function(dlsym(library, name))
        except OSError:
            continue
    return None
