"""Edits that reached a file which we had displaced. They are kept until they are records, and until no
editor can write to them any more.

An editor may hold the old file open across our exchange, and write to it afterwards. On Linux a read
lease can be had only on a file that no process has open for writing, so that is how we ask. Elsewhere a
displaced file is taken to be quiet, and a write after the next capture is lost.
"""

from __future__ import annotations

import fcntl
import os
import time

from holdfast.kernel.plain_file import open_plain
from holdfast.kernel.views.asides import SEEN
from holdfast.kernel.views.files import Unreadable, identity_of, read_file, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.views.asides import Asides

SIGURG = 23  # on Linux, the only system with leases; ignored by default
# How long we wait for an editor between its opening of a file and its last write.
PATIENCE_SECONDS = 0.05


def put_away(
    asides: Asides,
    displaced: TreeFile | None,
    expected: str | None,
    base: int,
    gone: list[TreeFile],
) -> bool:
    """Let a displaced file that is still what it was be removed: it joins `gone`. True when it was written
    to meanwhile, or may still be: then it is kept as an edit."""
    if displaced is None:
        return False
    is_still = is_quiet(displaced)
    found = identity_of(displaced)
    if found is None:
        return False
    if is_still and found == expected:
        gone.append(displaced)
        return False
    kept = asides.keep(displaced, base)
    if found == expected:
        # All that is in it was taken in while it stood in its place: an editor only adds to it from here on.
        identity, content = read_file(kept)
        if identity == expected:
            _seen_of(kept).write(content, 0o600)
    return True


def settle(file: TreeFile, identity: str, text: str) -> None:
    """An edit is a record now: its file can go, unless an editor may still write to it. Then what was
    taken in of it is kept beside it, so that the next look takes in only what came since."""
    if is_quiet(file) and identity_of(file) == identity:
        file.remove()
        _seen_of(file).remove_if_any()
    elif text != seen(file):
        _seen_of(file).write(text.encode(), 0o600)


def _seen_of(file: TreeFile) -> TreeFile:
    return file.beside(f"{file.name}.{SEEN}")


def seen(file: TreeFile) -> str:
    """What was taken in of an edit already."""
    try:
        return text_of(read_file(_seen_of(file))[1])
    except (FileNotFoundError, Unreadable):
        return ""


def wait_until_quiet(file: TreeFile) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_quiet(file) and time.monotonic() < deadline:
        time.sleep(0.001)


def is_quiet(file: TreeFile | str) -> bool:
    """Whether no process has the file open for writing, as far as the system tells."""
    ask: int | Literal[0] = getattr(fcntl, "F_SETLEASE", 0)
    if not ask:
        return True
    try:
        descriptor = open_plain(file) if isinstance(file, str) else file.open()
    except OSError:
        return True
    try:
        # If a process opens it right now, the system sends us a signal, whose default is to kill.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, SIGURG)
        fcntl.fcntl(descriptor, ask, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, ask, fcntl.F_UNLCK)
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True  # not our file, or a file system without leases
    finally:
        os.close(descriptor)
