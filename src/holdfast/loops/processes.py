"""Which process it was: a number and a start time, since numbers are used again."""

from __future__ import annotations

import os

_HAS_PROC = os.path.exists("/proc/self/stat")
_own: dict[int, str] = {}


def started(process: int) -> str:
    """When a process began, in its system's own words; empty when there is no such process."""
    if _HAS_PROC:
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                # The name in brackets may hold blanks and brackets of its own.
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in ("Z", "X") else fields[19]
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
