"""Programs at work on this machine: started, followed, ended; and what a crash left of them."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.kernel import canonical_json
from holdfast.kernel.redact import Redactor
from holdfast.processes import supervisor
from holdfast.processes.supervisor import Ended, Job
from holdfast.processes.tree import end_marked, kernel, send

LISTEN_SECONDS = 0.1


class KeptProgram:
    """One keeper, from our side. `ended` is set once its program is done; it may still keep what that
    left in the background."""

    def __init__(self, job: Job, redactor: Redactor) -> None:
        self.job = job
        self.begun = time.monotonic()
        self.ended: Ended | None = None
        self._pending = b""
        os.makedirs(job["own"], 0o700, exist_ok=True)
        supervisor.write_down(job)
        control, self.control = os.pipe()
        self.report, report = os.pipe()
        try:
            self.process = supervisor.fork_keeper(job, redactor, control, report)
        finally:
            os.close(control)
            os.close(report)

    def tell(self, order: bytes) -> None:
        try:
            os.write(self.control, order)
        except OSError:
            pass  # it has gone already

    def hear(self) -> bool:
        """Take in what the keeper says; False once it has gone."""
        chunk = os.read(self.report, 1 << 16)
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        for line in lines:
            said = canonical_json.loads(line.decode())
            if "ended" in said:
                self.ended = self._make_ended(said["ended"])
            elif "error" in said and self.ended is None:
                known = {"code": supervisor.NOT_STARTED, "last_line": said["error"]}
                self.ended = self._make_ended(known)
        return bool(chunk)

    def bury(self) -> None:
        """After the keeper has gone: what a killed one left is ended by its mark."""
        os.close(self.control)
        os.close(self.report)
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        except ChildProcessError:
            status = -1
        if status != 0 or self.ended is None:
            end_marked([self.job["mark"]])
            supervisor.forget(self.job)
        if self.ended is None:
            self.ended = self._make_ended({"code": status, "last_line": "", "lost": True})

    def _make_ended(self, known: dict[str, Any]) -> Ended:
        ended = supervisor.ended_of(self.job["mark"], known["code"], known["last_line"])
        ended["seconds"] = round(time.monotonic() - self.begun, 3)
        return {**ended, **known}  # type: ignore[typeddict-item]


class Programs:
    """All programs of one runner."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._kept: dict[str, KeptProgram] = {}
        self._ended: list[Ended] = []
        kernel.adopt_orphans()

    @property
    def at_work(self) -> int:
        """How many have not ended, or not been told of."""
        return sum(one.ended is None for one in self._kept.values()) + len(self._ended)

    @property
    def alive(self) -> int:
        """How many there is something left of: at work, or in the background after their end."""
        self._listen(0.0)  # a keeper of which nothing is left has gone
        return sum(one.ended is None or one.ended["left"] for one in self._kept.values())

    @property
    def marks(self) -> list[str]:
        """Those of which something is left, or whose end has not been told of."""
        return [*self._kept, *(one["mark"] for one in self._ended)]

    def start(self, job: Job) -> None:
        self._kept[job["mark"]] = KeptProgram(job, self._redactor)

    def wait(self, seconds: float, *others: int) -> list[Ended]:
        """What ended, as soon as something did; nothing when the time is over, or one of the other
        descriptors has something to read."""
        self._listen(0.0 if self._ended else seconds, others)
        ended, self._ended = self._ended, []
        return ended

    def _listen(self, seconds: float, others: Sequence[int] = ()) -> None:
        reports = {one.report: one for one in self._kept.values()}
        for found in select.select([*reports, *others], [], [], max(0.0, seconds))[0]:
            if found in reports:
                self._hear(reports[found])

    def _hear(self, kept: KeptProgram) -> None:
        known = kept.ended is not None
        if not kept.hear():
            kept.bury()
            del self._kept[kept.job["mark"]]
        if kept.ended is not None and not known:
            self._ended.append(kept.ended)

    def follow(self, job: Job, check: Callable[[], None]) -> Ended:
        """Run a program to its end. What `check` raises meanwhile ends the program, too."""
        try:
            self.start(job)
            while True:
                for ended in self.wait(supervisor.TICK_SECONDS):
                    return ended
                check()
        except BaseException:
            self.end()
            raise

    def ask_to_end(self, marks: Sequence[str], *, now: bool = False) -> None:
        """Tell these to end, and wait for nothing."""
        for mark in marks:
            if mark in self._kept:
                self._kept[mark].tell(supervisor.KILL if now else supervisor.END)

    def release(self, mark: str) -> None:
        """End what a program left in the background."""
        kept = self._kept.get(mark)
        if kept is not None:
            kept.tell(supervisor.END)
            self._until_gone([mark])

    def end(self, *, now: bool = False) -> list[Ended]:
        """End every program, with what it started: asked first, or at once."""
        self.ask_to_end(list(self._kept), now=now)
        self._until_gone(list(self._kept))
        return self.wait(0)

    def _until_gone(self, marks: Sequence[str]) -> None:
        deadline = time.monotonic() + supervisor.GRACE_SECONDS + 1
        while any(mark in self._kept for mark in marks):
            self._listen(LISTEN_SECONDS)
            if time.monotonic() > deadline:  # a keeper that was stopped hears nothing
                for mark in marks:
                    if mark in self._kept:
                        send(self._kept[mark].process, signal.SIGKILL)


def end_leftovers(own: str) -> list[int]:
    """End what a killed run left behind, by what it wrote down before it began; the processes."""
    marks: list[str] = []
    known: list[tuple[int, str]] = []
    try:
        notes = sorted(name for name in os.listdir(own) if ".job" in name)
    except FileNotFoundError:
        return []
    for name in notes:
        marks.append(name.partition(".")[0])
        try:
            with open(os.path.join(own, name), encoding="ascii") as file:
                said = canonical_json.loads(file.read())
            known += [(int(number), str(since)) for number, since in said["processes"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # its mark is in its name
    ended = end_marked(marks, known) if notes else []
    for name in notes:
        try:
            os.unlink(os.path.join(own, name))
        except FileNotFoundError:
            pass  # its keeper ended meanwhile, and took it away
    return ended
