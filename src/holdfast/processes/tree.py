"""Finding and ending what a program started, wherever that has gone.

A process that forks into the background gets another parent. Two things still tell whose it is: the
keeper above it, to which the kernel hands its orphans, and a mark in its environment.
"""

from __future__ import annotations

import os
import signal
import time

from holdfast.processes.identity import ENDED, entry, lives, started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The variable that marks every process of one attempt.
MARK = "HOLDFAST_ATTEMPT"
PAUSE_SECONDS = 0.01
HAS_PROC = os.path.exists("/proc/self/stat")
_SUBREAPER, _DEATH_SIGNAL = 36, 1


class _Kernel:
    """`prctl`, where there is one; looked up before a fork, never after it."""

    def __init__(self) -> None:
        self._call = None
        if HAS_PROC:
            import ctypes

            self._call = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)

    def adopt_orphans(self) -> None:
        """From now on, what our descendants leave behind becomes our child."""
        if self._call is not None:
            self._call(_SUBREAPER, 1, 0, 0, 0)

    def die_with_parent(self) -> None:
        if self._call is not None:
            self._call(_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


kernel = _Kernel()


def descendants(process: int) -> list[int]:
    """Every living process below one, nearest first."""
    children: dict[int, list[int]] = {}
    for number in _numbers():
        found = entry(number)
        if found is not None:
            children.setdefault(found.parent, []).append(number)
    below: list[int] = []
    level = children.get(process, [])
    while level:
        below += level
        level = [child for parent in level for child in children.get(parent, [])]
    return [number for number in below if _is_alive(number)]


def marked(marks: Iterable[str]) -> list[int]:
    """The living processes whose environment holds one of these marks, and what is below them."""
    wanted = [f"{MARK}={mark}".encode() for mark in marks]
    found: list[int] = []
    for number in _numbers() if wanted else []:
        if number == os.getpid():
            continue
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if any(each in variables for each in wanted) and _is_alive(number):
            found.append(number)
    return list(dict.fromkeys([*found, *(one for each in found for one in descendants(each))]))


def end_marked(marks: Iterable[str], known: Iterable[tuple[int, str]] = ()) -> list[int]:
    """End everything that has one of these marks, and these processes with all below them, at once and
    for good; which processes that were. A process is known by its number and its start."""
    marks, roots = list(marks), [one for one in known if one[0] != os.getpid()]
    ended: list[int] = []
    while True:
        living = [number for number, since in roots if lives(number, since)]
        targets = [*living, *(one for root in living for one in descendants(root))]
        targets = list(dict.fromkeys([*targets, *marked(marks)]))
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
    """An orphan that the kernel gave to us is ours to bury."""
    try:
        os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        pass


def _is_alive(process: int) -> bool:
    found = entry(process)
    return found is not None and found.state not in ENDED


def _numbers() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
