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

from holdfast.kernel.digest import new_id
from holdfast.kernel.plain_file import write_synced
from holdfast.kernel.views.files import Unreadable, identity_of, read_file, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

ENDING = ".edited"
SEEN = ".seen"
SIGURG = 23  # on Linux, the only system with leases; ignored by default
# How long we wait for an editor between its opening of a file and its last write.
PATIENCE_SECONDS = 0.05


def keep(stem: str, displaced: str, base: int) -> None:
    """Keep a displaced file as an edit of the version that it showed."""
    os.rename(displaced, f"{stem}.{base}.{new_id()[:8]}{ENDING}")


def waiting(stem: str) -> list[tuple[str, int]]:
    """The edits of a view that wait to become records: file, and version they were made on."""
    folder, name = os.path.split(stem)
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [each for each in names if each.endswith(ENDING)]
    return [
        (os.path.join(folder, each), _base_of(each))
        for each in sorted(found)
        if each.startswith(f"{name}.")
    ]


def _base_of(name: str) -> int:
    return int(name.split(".")[-3])


def put_away(stem: str, displaced: str, expected: str | None, base: int, gone: list[str]) -> bool:
    """Let a displaced file that is still what it was be removed: it joins `gone`. True when it was written
    to meanwhile, or may still be: then it is kept as an edit."""
    is_still = is_quiet(displaced)
    found = identity_of(displaced)
    if found is None:
        return False
    if is_still and found == expected:
        gone.append(displaced)
        return False
    keep(stem, displaced, base)
    return True


def settle(file: str, identity: str, text: str) -> None:
    """An edit is a record now: its file can go, unless an editor may still write to it. Then what was
    taken in of it is kept beside it, so that the next look takes in only what came since."""
    if is_quiet(file) and identity_of(file) == identity:
        os.unlink(file)
        if os.path.exists(file + SEEN):
            os.unlink(file + SEEN)
    elif text != seen(file):
        write_synced(file + SEEN, text.encode())


def seen(file: str) -> str:
    """What was taken in of an edit already."""
    try:
        return text_of(read_file(file + SEEN)[1])
    except (FileNotFoundError, Unreadable):
        return ""


def wait_until_quiet(file: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_quiet(file) and time.monotonic() < deadline:
        time.sleep(0.001)


def is_quiet(file: str) -> bool:
    """Whether no process has the file open for writing, as far as the system tells."""
    ask: int | Literal[0] = getattr(fcntl, "F_SETLEASE", 0)
    if not ask:
        return True
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
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
