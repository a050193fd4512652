"""Finding and ending what a program started, wherever that has gone.

A process that forks into the background gets another parent. Two things still tell whose it is: the
keeper above it, to which Linux hands its orphans, and a mark in its environment. psutil reads both on
Linux and on macOS.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable

import psutil

from holdfast.processes.identity import lives, started

# The variable that marks every process of one attempt.
MARK = "HOLDFAST_ATTEMPT"
PAUSE_SECONDS = 0.01
# How often a process without an environment is looked at before it counts as one without a mark.
LOOKS = 10
EXEC_SECONDS = 0.005
UNREAD = ""
_SUBREAPER, _DEATH_SIGNAL = 36, 1


class Kernel:
    """`prctl` of Linux; looked up before a fork, never after it. Elsewhere it does nothing."""

    def __init__(self, system: str = sys.platform) -> None:
        self._call = None
        if system == "linux":
            import ctypes

            self._call = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)

    @property
    def can_adopt_orphans(self) -> bool:
        """Whether a process can become the parent of what its descendants leave behind."""
        return self._call is not None

    def adopt_orphans(self) -> None:
        """From now on, what our descendants leave behind becomes our child."""
        if self._call is not None:
            self._call(_SUBREAPER, 1, 0, 0, 0)

    def die_with_parent(self) -> None:
        if self._call is not None:
            self._call(_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


kernel = Kernel()


def descendants(process: int) -> list[int]:
    """Every living process below one."""
    try:
        below = psutil.Process(process).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [one.pid for one in below if _is_alive(one)]


def find_marked(marks: Iterable[str]) -> list[int]:
    """The living processes whose environment holds one of these marks, and what is below them."""
    wanted = set(marks)
    found: list[int] = []
    unread = [one for one in psutil.process_iter() if one.pid != os.getpid()] if wanted else []
    for look in range(LOOKS):
        if look:
            time.sleep(EXEC_SECONDS)
        marked = {process: _mark_of(process) for process in unread}
        found = [each.pid for each, mark in marked.items() if mark in wanted and _is_alive(each)]
        unread = [process for process, mark in marked.items() if mark == UNREAD]
        if found or not unread:
            break
    return list(dict.fromkeys([*found, *(one for each in found for one in descendants(each))]))


def _mark_of(process: psutil.Process) -> str | None:
    """The mark in the environment of a process; UNREAD for one without any, which may be in the middle of an
    exec. A thread of the kernel has no program either."""
    try:
        variables = process.environ()
        return variables.get(MARK) if variables or not process.exe() else UNREAD
    except (psutil.Error, OSError):  # it has ended, or is another user's
        return None


def end_marked(marks: Iterable[str], known: Iterable[tuple[int, str]] = ()) -> list[int]:
    """End everything that has one of these marks, and these processes with all below them, at once and
    for good; which processes that were. A process is known by its number and its start."""
    marks, roots = list(marks), [one for one in known if one[0] != os.getpid()]
    ended: list[int] = []
    while True:
        living = [number for number, since in roots if lives(number, since)]
        targets = [*living, *(one for root in living for one in descendants(root))]
        targets = list(dict.fromkeys([*targets, *find_marked(marks)]))
        if not targets:
            for number in ended:
                _reap(number)
            return list(dict.fromkeys(ended))
        roots += [(number, started(number)) for number in targets]
        for number in targets:
            send(number, signal.SIGKILL)
            _reap(number)
        ended += targets
        time.sleep(PAUSE_SECONDS)


def send(process: int, sign: signal.Signals) -> None:
    try:
        os.kill(process, sign)
    except (ProcessLookupError, PermissionError):
        pass


def _reap(process: int) -> None:
    """Reap a process, if it is an orphan that the kernel gave to us."""
    try:
        os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        pass


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False
