"""A program that is given some input and read to its end, within a time.

`subprocess` does the same and more, and costs a hook half of a bare interpreter to import. A session's
start asks git one question.
"""

from __future__ import annotations

import os
import time
from _signal import SIGKILL, SIGPIPE, SIGTERM, SIGXFSZ  # type: ignore[import-not-found]
from select import POLLERR, POLLHUP, POLLIN, POLLOUT, poll

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PIECE = 1 << 16
# A program that says nothing is looked at so often. Where the kernel keeps one that opens a pipe without another end.
LOOK_SECONDS, OPENING_PIPE = 0.25, b"wait_for_partner"
# A program that has closed its pipes is near its end: so often it is asked for it without a break.
LAST_STEPS = 20
# The code of a program that has ended, and of which the system does not say how.
UNKNOWN_END = -1
_MOMENT, _PAUSE = 0.000_05, 0.005


def find_program(name: str) -> str:
    """Return the path of the program that a shell would start; empty where there is none."""
    for folder in [""] if os.sep in name else os.get_exec_path():
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


class TimeOut(Exception):
    """The program did not end in time, or cannot: then the argument says what it waits for. It still runs."""


class Child:
    """A program that was started in a process group of its own, so that it is ended with what it
    started. It runs in our folder: `posix_spawn` cannot set another one."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], *, fed: bool) -> None:
        self.code: int | None = None
        self._output: dict[int, list[bytes]] = {}
        self._input = -1
        theirs: list[int] = []
        try:
            if fed:
                given, self._input = os.pipe()
            else:
                given = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            theirs.append(given)
            for _ in range(2):
                ours, their = os.pipe()
                self._output[ours] = []
                theirs.append(their)
            actions = [
                (os.POSIX_SPAWN_DUP2, descriptor, number)
                for number, descriptor in enumerate(theirs)
            ]
            self.pid = os.posix_spawnp(
                words[0],
                list(words),
                dict(environment),
                file_actions=actions,
                setsid=True,
                setsigdef=[SIGPIPE, SIGXFSZ],
            )
        except BaseException:
            self._close()
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def communicate(self, input: bytes | None, seconds: float) -> tuple[bytes, bytes]:
        """Give it its input; what it printed, and what it said of errors. It may be called again
        after a `TimeOut`."""
        deadline = time.monotonic() + seconds
        waiting = memoryview(input or b"")
        pipes = poll()
        closed: set[int] = set()
        for descriptor in self._output:
            pipes.register(descriptor, POLLIN)
        if self._input >= 0:
            os.set_blocking(self._input, False)
            pipes.register(self._input, POLLOUT)
        is_stuck = False
        while len(closed) < len(self._output):
            left = deadline - time.monotonic()
            ready = pipes.poll(max(0.0, min(left, LOOK_SECONDS)) * 1000)
            if not ready and left <= 0:
                raise TimeOut
            if not ready:
                was_stuck, is_stuck = is_stuck, False
                try:
                    # What it waits for in the kernel, where the system tells.
                    told = os.open(f"/proc/{self.pid}/wchan", os.O_RDONLY | os.O_CLOEXEC)
                    try:
                        is_stuck = os.read(told, 64) == OPENING_PIPE
                    finally:
                        os.close(told)
                except OSError:
                    continue
                if was_stuck and is_stuck:
                    raise TimeOut(OPENING_PIPE)
            for descriptor, events in ready:
                if descriptor == self._input:
                    waiting = self._write(waiting, events)
                    if self._input < 0:
                        pipes.unregister(descriptor)
                    continue
                piece = os.read(descriptor, PIECE)
                self._output[descriptor].append(piece)
                if not piece:
                    pipes.unregister(descriptor)
                    closed.add(descriptor)
        output, errors = (b"".join(pieces) for pieces in self._output.values())
        self._wait(deadline)
        self._close()
        return output, errors

    def _write(self, waiting: memoryview, events: int) -> memoryview:
        try:
            if waiting and not events & (POLLERR | POLLHUP):
                waiting = waiting[os.write(self._input, waiting[:PIECE]) :]
            else:
                waiting = waiting[:0]
        except BlockingIOError:
            return waiting
        except BrokenPipeError:
            waiting = waiting[:0]  # it needs no more
        if not waiting:
            os.close(self._input)
            self._input = -1
        return waiting

    def _wait(self, deadline: float) -> None:
        for step in range(1 << 62):
            try:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # this process ignores its children's ends
                self.code = UNKNOWN_END
                return
            if ended:
                self.code = os.waitstatus_to_exitcode(status)
                return
            if time.monotonic() > deadline:
                raise TimeOut
            time.sleep(_MOMENT if step < LAST_STEPS else _PAUSE)

    def end(self, grace: float) -> None:
        """End it if it runs: first politely, so that it can tidy up; then for sure."""
        if self.code is not None:
            return
        for number in (SIGTERM, SIGKILL):
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                pass
            try:
                self.communicate(None, grace)
                return
            except TimeOut:
                continue
        self._close()

    def _close(self) -> None:
        for descriptor in (*self._output, self._input):
            if descriptor >= 0:
                os.close(descriptor)
        self._output, self._input = {}, -1
