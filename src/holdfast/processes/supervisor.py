"""The keeper of one program: a process between us and it, so that nothing it starts is ever lost.

The keeper adopts what its program leaves in the background, takes the output in, and ends everything
when its time is over, when it is told to, or when we are gone. Should the keeper be killed, the kernel
ends the program, and the process that started the keeper ends the rest by its mark.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from holdfast.kernel import canonical_json
from holdfast.kernel.blank import blank
from holdfast.kernel.plain_file import write_all, write_aside
from holdfast.kernel.redact import Redactor
from holdfast.processes.identity import started
from holdfast.processes.output_file import Log
from holdfast.processes.tree import MARK, PAUSE_SECONDS, descendants, find_marked, kernel, send


class Stage(TypedDict):
    """One program of a job: its words, what it reads, and what it is called."""

    name: str
    words: Sequence[str]
    input: str


class Job(TypedDict):
    """What is to be run: its stages one after the other, as long as each ends with 0. `own` is a
    folder of ours, in which it is written down before it begins."""

    mark: str
    stages: Sequence[Stage]
    folder: str
    environment: Mapping[str, str]
    log: str
    own: str
    seconds: float | None


class Ended(TypedDict):
    """How a job ended. `lost`: its keeper died, and with it what it had to tell. `left`: something of
    it lives on in the background. `on` is the machine, where that is another, and `why` what is known
    of a loss."""

    mark: str
    code: int
    stage: str
    seconds: float
    last_line: str
    too_long: bool
    lost: bool
    left: bool
    on: NotRequired[str]
    why: NotRequired[str]


TICK_SECONDS = 0.2
GRACE_SECONDS = 5.0
# What we tell a keeper: end your program kindly, or at once. That we are gone, it sees by itself.
END, KILL = b"e", b"k"
NOT_STARTED = 127


def fork_keeper(job: Job, redactor: Redactor, control: int, report: int) -> int:
    """The keeper's process. It reads `control` and writes `report`; all else of ours it closes."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()  # the terminal's Ctrl+C is for us to hear
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH, signal.SIGCHLD):
            signal.signal(sign, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        kernel.adopt_orphans()
        _close_all_but(control, report)
        _Keeping(job, redactor, control, report).to_the_end()
    except BaseException as error:
        tell(report, {"error": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(0)
    raise AssertionError("unreachable")


class _Keeping:
    """The keeper's own side."""

    def __init__(self, job: Job, redactor: Redactor, control: int, report: int) -> None:
        self._job = job
        self._control = control
        self._report = report
        self._begun = time.monotonic()
        self._log = Log(job["log"], redactor)
        self._outputs: list[int] = []
        self._codes: dict[int, int] = {}
        self._order = b""
        write_down(job, os.getpid())

    def to_the_end(self) -> None:
        code, stage, too_long = 0, "", False
        for each in self._job["stages"]:
            stage = each["name"]
            code, too_long = self._run(each)
            if code != 0 or too_long or self._order:
                break
        if too_long or self._order:
            self._end_all()
        ended = {
            "code": code,
            "stage": stage,
            "seconds": round(time.monotonic() - self._begun, 3),
            "last_line": self._log.last_line,
            "too_long": too_long,
        }
        if not self._has_processes():
            self._close()
            tell(self._report, {"ended": ended})
            return
        tell(self._report, {"ended": {**ended, "left": True}})
        # What it left in the background, such as a server to look at, lives until we are told.
        while not self._order and self._has_processes():
            self._wait([], TICK_SECONDS)
        self._end_all()
        self._close()

    def _close(self) -> None:
        self._drain()
        self._log.close()
        forget(self._job)

    def _run(self, stage: Stage) -> tuple[int, bool]:
        begun = time.monotonic()
        process, output, go = _start(self._job, stage)
        self._outputs.append(output)
        write_down(self._job, os.getpid(), process)
        os.write(go, b"g")
        os.close(go)
        watch = _watch(process)
        limit = self._job["seconds"]
        try:
            while process not in self._codes:
                self._wait([watch] if watch >= 0 else [], TICK_SECONDS)
                self._reap()
                if self._order:
                    return -int(signal.SIGTERM), False
                if limit is not None and time.monotonic() - begun > limit:
                    return -int(signal.SIGKILL), True
        finally:
            if watch >= 0:
                os.close(watch)
        self._drain()
        return self._codes.pop(process), False

    def _wait(self, others: Sequence[int], seconds: float) -> None:
        """Until there is output, an order, or an end."""
        control = [] if self._order == KILL else [self._control]
        for found in select.select([*self._outputs, *control, *others], [], [], seconds)[0]:
            if found == self._control:
                told = os.read(self._control, 16)
                self._order = END if told and KILL not in told else KILL
            elif found in self._outputs:
                self._take(found)

    def _take(self, output: int) -> bool:
        try:
            chunk = os.read(output, 1 << 16)
        except BlockingIOError:
            return False
        if not chunk:
            self._outputs.remove(output)
            os.close(output)
        self._log.take(chunk)
        return bool(chunk)

    def _drain(self) -> None:
        """What stands in the pipes already. A program in the background may never stop writing."""
        deadline = time.monotonic() + TICK_SECONDS
        for output in list(self._outputs):
            while self._take(output) and time.monotonic() < deadline:
                pass

    def _has_processes(self) -> bool:
        """Whether anything of this job still runs, also in the background."""
        return self._reap() or bool(self._orphans())

    def _orphans(self) -> list[int]:
        """What runs in the background where the system gives us no orphans: found by its mark."""
        return [] if kernel.can_adopt_orphans else find_marked([self._job["mark"]])

    def _reap(self) -> bool:
        """Reap the children that have ended; whether any is left."""
        try:
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == 0:
                    return True
                self._codes[process] = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return False

    def _end_all(self) -> None:
        """Everything below us: asked first, then made to."""
        deadline = time.monotonic() + GRACE_SECONDS
        asked = False
        while self._has_processes():
            late = time.monotonic() >= deadline or self._order == KILL
            if late or not asked:
                for process in {*descendants(os.getpid()), *self._orphans()}:
                    send(process, signal.SIGKILL if late else signal.SIGTERM)
                asked = True
            self._wait([], PAUSE_SECONDS)


def _start(job: Job, stage: Stage) -> tuple[int, int, int]:
    """A program that waits for our word: its number is written down first, so should we die before
    that, it reads nothing and ends, and nothing ran. Its process, its output, and where to say go."""
    output, theirs = os.pipe()
    hears, go = os.pipe()
    reads = _input(job, stage["input"])
    parent = os.getpid()
    process = os.fork()
    if process:
        for descriptor in (theirs, hears, reads):
            os.close(descriptor)
        os.set_blocking(output, False)
        return process, output, go
    try:
        os.setsid()
        kernel.die_with_parent()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.close(go)
        if os.read(hears, 1) != b"g" or os.getppid() != parent:
            os._exit(NOT_STARTED)
        for source, target in ((reads, 0), (theirs, 1), (theirs, 2)):
            os.dup2(source, target)
        os.chdir(job["folder"])
        words, variables = list(stage["words"]), {**job["environment"], MARK: job["mark"]}
        os.execvpe(words[0], words, variables)  # noqa: S606
    except OSError as error:
        os.write(2, f"{stage['words'][0]}: {error.strerror}\n".encode("utf-8", "replace"))
    finally:
        os._exit(NOT_STARTED)
    raise AssertionError("unreachable")


def _input(job: Job, text: str) -> int:
    """A program's standard input: a file without a name, since a pipe has an end."""
    if not text:
        return os.open(os.devnull, os.O_RDONLY)
    path = os.path.join(job["own"], f"{job['mark']}.input")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.unlink(path)
    write_all(descriptor, text.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _watch(process: int) -> int:
    """Something to wait on for a process's end; -1 where the system has none."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return -1


def _close_all_but(*kept: int) -> None:
    """Of what we inherited. Locks are among it, and must not outlive their holder."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    low = 3
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, max(low, 4096))


def tell(descriptor: int, said: object) -> bool:
    """Write one line of JSON; False when no process reads it any more."""
    try:
        write_all(descriptor, canonical_json.dumps(said).encode() + b"\n")
    except OSError:
        return False
    return True


def ended_of(mark: str, code: int, last_line: str) -> Ended:
    """The end of a program that did not run."""
    return blank(Ended, mark=mark, code=code, last_line=last_line)


# What is written down


def note_of(job: Job) -> str:
    return os.path.join(job["own"], f"{job['mark']}.job")


def write_down(job: Job, keeper: int = 0, program: int = 0) -> None:
    """Who belongs to a job, for the process that comes after a crash. Not synced: with the machine, all of
    them go."""
    known = [[number, started(number)] for number in (keeper, program) if number]
    text = canonical_json.dumps({"mark": job["mark"], "processes": known})
    write_aside(note_of(job), text.encode("ascii"))


def forget(job: Job) -> None:
    try:
        os.unlink(note_of(job))
    except FileNotFoundError:
        pass
