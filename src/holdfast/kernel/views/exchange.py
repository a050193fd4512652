"""Swapping two names in one step, so that what is displaced can still be looked at; and moving a view's file
aside for good, such as the checkpoint of an agent that was taken over."""

from __future__ import annotations

import errno
import os
import sys

from holdfast.kernel.crash import reached
from holdfast.kernel.views.files import target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.journal.interface import Effect
    from holdfast.kernel.rules import Wish
    from holdfast.kernel.workspace import Workspace

_AT_FDCWD = -100 if sys.platform.startswith("linux") else -2
_NOREPLACE, _EXCHANGE = (1, 2) if sys.platform.startswith("linux") else (4, 2)
# The system's call, looked up once: to look it up costs as much as the rename.
_call: list[Callable[[int, bytes, int, bytes, int], int] | None] = []
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
MOVE = "move"


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
    # `ctypes` itself, with the types that it makes, costs a hook a tenth of an interpreter.
    from _ctypes import get_errno

    if not _call:
        _call.append(_of_the_system())
    if _call[0] is None:
        return False
    if _call[0](_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), flags) == 0:
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


def wish(workspace: Workspace, path: str, archive: str) -> Wish:
    body = {"worktree": workspace.root, "from": path, "to": archive}
    return {"kind": MOVE, "key": f"{workspace.root}\n{archive}", "body": body}


def waiting(workspace: Workspace, stream: str) -> list[Effect]:
    """What was decided to be moved, and was not seen to be moved yet."""
    return [
        effect
        for effect in workspace.journal.effects(kinds=[MOVE])
        if effect["stream"] == stream and effect["body"]["worktree"] == workspace.root
    ]


def finish(workspace: Workspace, stream: str) -> None:
    """Rename what was decided to be moved. A place that is empty, or an archive that is there
    already, means that it happened."""
    for effect in waiting(workspace, stream):
        body = effect["body"]
        source, archive = target_of(workspace, body["from"]), target_of(workspace, body["to"])
        if os.path.lexists(source) and not os.path.lexists(archive):
            reached("before moving")
            os.makedirs(os.path.dirname(archive), exist_ok=True)
            place_new(source, archive)
        reached("before settling")
        workspace.journal.settle(effect["id"])
