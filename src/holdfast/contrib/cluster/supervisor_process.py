"""Programs that a process of its own keeps, for a caller that has threads.

A keeper is a fork without an exec, which only a process with one thread may do safely. So the keepers
are children of a small process between us and them; when one of these is killed, what is below it ends.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.kernel import canonical_json
from holdfast.kernel.redact import Redactor
from holdfast.processes.programs import Programs
from holdfast.processes.supervisor import NOT_STARTED, TICK_SECONDS, Ended, Job, ended_of, tell

COMMAND = ("-P", "-m", "holdfast.contrib.cluster.supervisor_process")
CHUNK = 1 << 16


@dataclass
class _Awaited:
    """A program that a caller waits for."""

    over: threading.Event = field(default_factory=threading.Event)
    ended: Ended | None = None


class ProgramsApart:
    """Programs of this machine, from any thread. The process that keeps them is started when it is
    needed, and ends with us."""

    def __init__(self) -> None:
        self._known = threading.Lock()
        # Another for what is told: it may block, and who hears the answers must not.
        self._telling = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._awaited: dict[str, _Awaited] = {}
        self._alive: set[str] = set()
        # Ended before they began: an order to end may come before the program's own.
        self._over: set[str] = set()

    @property
    def alive(self) -> set[str]:
        """The marks of the programs of which something is left."""
        with self._known:
            return set(self._alive)

    def run(self, job: Job, tell_place: Callable[[], None], every: float) -> Ended:
        """Run a program to its end. `tell_place` is called again and again while it is at work."""
        awaited = self._start(job)
        while not awaited.over.wait(every):
            tell_place()
        assert awaited.ended is not None
        return awaited.ended

    def _start(self, job: Job) -> _Awaited:
        mark, awaited = job["mark"], _Awaited()
        with self._known:
            if mark in self._over:
                awaited.ended = ended_of(mark, -int(signal.SIGTERM), "ended before it began")
                awaited.over.set()
                return awaited
            self._awaited[mark] = awaited
            self._alive.add(mark)
        with self._telling:
            # Lost with a process that died just now, it must not begin with the next one.
            if not awaited.over.is_set():
                if self._process is None:
                    self._begin()
                if not self._tell({"start": job}):
                    with self._known:
                        self._lost([mark])
        return awaited

    def end(self, marks: Sequence[str], *, now: bool = False) -> None:
        """End programs: asked first, or at once. One that has not begun never will."""
        with self._known:
            self._over.update(marks)
            known = [mark for mark in marks if mark in self._alive]
        with self._telling:
            if known:
                self._tell({"end": known, "now": now})

    def close(self) -> None:
        """End everything at once."""
        with self._telling:
            process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()

    # The other process

    def _tell(self, order: Any) -> bool:
        """Whether a process hears it. The caller holds `_telling`."""
        if self._process is None or self._process.stdin is None:
            return False
        return tell(self._process.stdin.fileno(), order)

    def _begin(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        threading.Thread(target=self._hear, args=(self._process,), daemon=True).start()

    def _hear(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        with process.stdout as words:
            for line in words:
                said = canonical_json.loads(line.decode())
                with self._known:
                    self._take(said)
        process.wait()
        with self._telling:
            process.stdin.close()
            if self._process is process:
                self._process = None
            with self._known:
                self._lost(list(self._alive))

    def _take(self, said: Any) -> None:
        if "ended" in said:
            self._settle(said["ended"])
        else:
            self._alive.discard(said["gone"])
            self._over.discard(said["gone"])

    def _settle(self, ended: Ended) -> None:
        awaited = self._awaited.pop(ended["mark"], None)
        if awaited is not None:
            awaited.ended = ended
            awaited.over.set()

    def _lost(self, marks: Sequence[str]) -> None:
        """What kept them has gone, and they have gone with it."""
        for mark in marks:
            self._alive.discard(mark)
            self._settle({**ended_of(mark, -int(signal.SIGKILL), ""), "lost": True})


class _Supervision:
    """The side of the other process: orders come in on one descriptor, ends go out on another. Should no
    process read those any more, the end of the orders says so."""

    def __init__(self, orders: int, words: int) -> None:
        self._orders = orders
        self._words = words
        self._programs = Programs(Redactor())
        self._kept: set[str] = set()
        self._pending = b""

    def to_the_end(self) -> None:
        while True:
            for ended in self._programs.wait(TICK_SECONDS, self._orders):
                tell(self._words, {"ended": ended})
            self._tell_what_has_gone()
            if select.select([self._orders], [], [], 0)[0] and not self._take():
                self._programs.end(now=True)
                return

    def _tell_what_has_gone(self) -> None:
        for mark in self._kept.difference(self._programs.marks):
            self._kept.remove(mark)
            tell(self._words, {"gone": mark})

    def _take(self) -> bool:
        """Carry out an order; False once the process that gives them is gone."""
        chunk = os.read(self._orders, CHUNK)
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        for line in lines:
            order = canonical_json.loads(line.decode())
            if "start" in order:
                self._start(order["start"])
            else:
                self._programs.ask_to_end(order["end"], now=order["now"])
        return bool(chunk)

    def _start(self, job: Job) -> None:
        self._kept.add(job["mark"])
        try:
            self._programs.start(job)
        except OSError as error:
            tell(self._words, {"ended": ended_of(job["mark"], NOT_STARTED, str(error))})


def main() -> None:
    for sign in (signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)  # the process that started us decides when we end
    words = os.dup(1)
    os.dup2(2, 1)
    _Supervision(0, words).to_the_end()


if __name__ == "__main__":
    main()
