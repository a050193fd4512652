"""Which process it was: a number and a start time, since numbers are used again.

`/proc` tells; where there is none (macOS), `ps` does. Hooks use this module, so it loads nothing;
`holdfast.processes.tree` asks psutil for what is below a process and for environments.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PROC = "/proc"
PS = "/bin/ps"
PS_SECONDS = 10.0
# Dead, and only waiting for its parent to notice.
ENDED = ("Z", "X")
# About 330 bytes, of which the name is 64 at most.
LONGEST_STAT = 4096
# Of `ps -o lstart=`: weekday, month, day, time and year.
_START_WORDS = 5
_own: dict[int, str] = {}


class ProcessEntry:
    """What the system says of one process. `started` is its start time in the system's own words: of
    two processes with one number, no two have the same."""

    def __init__(
        self,
        number: int,
        name: str,
        state: str,
        parent: int,
        started: str,
        words: Sequence[str] | None = None,
    ) -> None:
        self.number = number
        self.name, self.state, self.parent, self.started = name, state, parent, started
        self._words = words

    @property
    def command(self) -> list[str]:
        """The words that the process was started with; none when they cannot be read."""
        if self._words is not None:
            return list(self._words)
        try:
            with open(f"{PROC}/{self.number}/cmdline", "rb") as file:
                return file.read().decode("utf-8", "replace").split("\0")[:-1]
        except OSError:
            return []


def has_proc() -> bool:
    return os.path.exists(f"{PROC}/self/stat")


def entry(process: int) -> ProcessEntry | None:
    """What is known of a process; None when there is none, or when nothing tells."""
    try:
        # Python's own files take longer than the kernel does, and this is asked of every process.
        descriptor = os.open(f"{PROC}/{process}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None if has_proc() else _from_ps(process)
    try:
        stat = os.read(descriptor, LONGEST_STAT).decode("utf-8", "replace")
        # The name is in parentheses, and may hold blanks and parentheses of its own.
        before, _, after = stat.rpartition(")")
        fields = after.split()
        name, state, parent = before.partition("(")[2], fields[0], int(fields[1])
        return ProcessEntry(process, name, state, parent, started=fields[19])
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(descriptor)


def _from_ps(process: int) -> ProcessEntry | None:
    columns = ("-o", "ppid=", "-o", "stat=", "-o", "lstart=", "-o", "args=")
    fields = _run([PS, "-ww", *columns, "-p", str(process)]).split()
    start, words = fields[2 : 2 + _START_WORDS], fields[2 + _START_WORDS :]
    if not words or not fields[0].isdigit():
        return None
    name, state, parent = os.path.basename(words[0]).lstrip("-"), fields[1][0], int(fields[0])
    return ProcessEntry(process, name, state, parent, started=" ".join(start), words=words)


def _run(words: list[str]) -> str:
    """What a program prints, in one language and time zone; nothing when it cannot be run."""
    from holdfast.processes.child import Child, TimeOut

    environment = {"LC_ALL": "C", "TZ": "UTC0", "PATH": "/usr/bin:/bin"}
    try:
        child = Child(words, environment, fed=False)
    except OSError:
        return ""
    try:
        return child.communicate(None, PS_SECONDS)[0].decode("utf-8", "replace")
    except TimeOut:
        child.end(0.0)
        return ""


def exists(process: int) -> bool:
    """Whether there is such a process, though the system may hide those of other users."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def started(process: int) -> str:
    """When a process began, in its system's own words; empty when there is no such process."""
    found = entry(process)
    return "" if found is None or found.state in ENDED else found.started


def own() -> tuple[int, str]:
    process = os.getpid()
    if process not in _own:
        _own.clear()  # after a fork it is another one
        _own[process] = started(process)
    return process, _own[process]


def lives(process: int, since: str) -> bool:
    return bool(since) and started(process) == since
