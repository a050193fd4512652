"""Which process it was: a number and a start time, since numbers are used again.

`/proc` tells; where there is none, `ps` does.
"""

from __future__ import annotations

import os

_HAS_PROC = os.path.exists("/proc/self/stat")
# Dead, and only waiting for whoever started it to notice.
ENDED = ("Z", "X")
# About 330 bytes, of which the name is 64 at most.
LONGEST_STAT = 4096
_own: dict[int, str] = {}


class Entry:
    """What `/proc` says of one process."""

    __slots__ = ("name", "parent", "started", "state")

    def __init__(self, stat: str) -> None:
        # The name is in parentheses, and may hold blanks and parentheses of its own.
        before, _, after = stat.rpartition(")")
        fields = after.split()
        self.name = before.partition("(")[2]
        self.state, self.parent, self.started = fields[0], int(fields[1]), fields[19]


def entry(process: int) -> Entry | None:
    """What is known of a process; None when there is none, or no `/proc` to ask."""
    try:
        # Python's own files take longer than the kernel does, and this is asked of every process.
        descriptor = os.open(f"/proc/{process}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return Entry(os.read(descriptor, LONGEST_STAT).decode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except (OSError, ValueError, IndexError):
        return None


def started(process: int) -> str:
    """When a process began, in its system's own words; empty when there is no such process."""
    if _HAS_PROC:
        found = entry(process)
        return "" if found is None or found.state in ENDED else found.started
    import subprocess

    asked = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(process)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return "" if asked.startswith("Z") else asked.partition(" ")[2].strip()


def own() -> tuple[int, str]:
    process = os.getpid()
    if process not in _own:
        _own.clear()  # after a fork it is another one
        _own[process] = started(process)
    return process, _own[process]


def lives(process: int, since: str) -> bool:
    return bool(since) and started(process) == since
