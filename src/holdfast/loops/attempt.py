"""One program, run for a step: started so that no crash leaves two of it, its output kept."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from typing import NamedTuple

from holdfast.adapters.processes import lives, started
from holdfast.kernel import jsontext
from holdfast.kernel.disk import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.kernel.redact import Redactor

CHILD = "child"
TICK_SECONDS = 0.2
GRACE_SECONDS = 5.0
LONGEST_LINE = 64 * 1024
LARGEST_LOG = 20_000_000
# A private key is redacted as a whole, so its lines are held back until its end.
_KEY_BEGIN, _KEY_END, _KEY_LINES = b"-----BEGIN", b"-----END", 200
# The program begins when we say so, after its number is written down. Should we die before that, the
# shell reads nothing and ends, and nothing ran.
_WAIT = 'read -r go && exec "$@" </dev/null'


class Ended(NamedTuple):
    """How a program ended: its exit code, and what it said last."""

    code: int
    seconds: float
    last_line: str
    too_long: bool


class Log:
    """The output of one attempt, redacted line by line, in a file of its owner alone."""

    def __init__(self, path: str, redactor: Redactor) -> None:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        self._redactor = redactor
        self._pending = b""
        self._size = 0
        self.last_line = ""

    def take(self, chunk: bytes) -> None:
        self._pending += chunk
        while True:
            end = self._end_of_block()
            if end < 0:
                return
            block, self._pending = self._pending[:end], self._pending[end:]
            self._put(block)

    def _end_of_block(self) -> int:
        """Where the next block ends: a line, a whole private key, or what no line should be."""
        end = self._pending.find(b"\n") + 1
        if end and _KEY_BEGIN in self._pending[:end]:
            close = self._pending.find(_KEY_END)
            if close >= 0:
                return self._pending.find(b"\n", close) + 1 or -1
            return -1 if self._pending.count(b"\n") < _KEY_LINES else end
        return end or (LONGEST_LINE if len(self._pending) > LONGEST_LINE else -1)

    def _put(self, block: bytes) -> None:
        text = self._redactor.text(block.decode("utf-8", "replace"))
        shown = text.strip()
        if shown:
            self.last_line = shown.splitlines()[-1][:500]
        content = text.encode()
        if self._size <= LARGEST_LOG < self._size + len(content):
            content = b"[the rest of the output was not kept]\n"
            self._size = LARGEST_LOG
        elif self._size >= LARGEST_LOG:
            return
        self._size += len(content)
        try:
            write_all(self._descriptor, content)
        except OSError:
            pass  # a full disk must not end the work; the record that follows will say so

    def close(self) -> None:
        if self._pending:
            self._put(self._pending)
            self._pending = b""
        os.close(self._descriptor)


def run(
    command: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    own: str,
    log: Log,
    seconds: int | None,
    tick: Callable[[str], None],
) -> Ended:
    """Run a program to its end. An interrupt ends the program too."""
    begun = time.monotonic()
    process = subprocess.Popen(
        ["/bin/sh", "-c", _WAIT, "holdfast", *command],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    too_long = False
    try:
        _write_down(own, process.pid)
        assert process.stdin is not None
        try:
            process.stdin.write(b"go\n")
            process.stdin.close()
        except BrokenPipeError:
            pass  # it was killed before it began; its exit code says so
        too_long = not _follow(process, log, begun, seconds, tick)
        if too_long:
            _end(process)
    except BaseException:
        _end(process)
        raise
    finally:
        assert process.stdout is not None
        process.stdout.close()
        forget(own)
    code = process.wait()
    return Ended(code, time.monotonic() - begun, log.last_line, too_long)


def _follow(
    process: subprocess.Popen[bytes],
    log: Log,
    begun: float,
    seconds: int | None,
    tick: Callable[[str], None],
) -> bool:
    """Take the output in until the program ends; False when it had its time."""
    assert process.stdout is not None
    output = process.stdout.fileno()
    os.set_blocking(output, False)
    is_open, ended_at = True, 0.0
    while True:
        ended = process.poll() is not None
        ended_at = ended_at or (time.monotonic() if ended else 0.0)
        ready = is_open and select.select([output], [], [], 0 if ended else TICK_SECONDS)[0]
        if ready:
            chunk = os.read(output, 1 << 16)
            is_open = bool(chunk)
            log.take(chunk)
        # A program that it left in the background may hold the output open, and write to it for ever.
        if ended and (not ready or time.monotonic() - ended_at > TICK_SECONDS):
            return True
        tick(log.last_line)
        if not is_open and not ended:
            try:
                process.wait(TICK_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        if not ended and seconds is not None and time.monotonic() - begun > seconds:
            return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started: asked first, then made to."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(GRACE_SECONDS)
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _write_down(own: str, process: int) -> None:
    os.makedirs(own, 0o700, exist_ok=True)
    text = jsontext.dumps({"pid": process, "started": started(process)})
    with open(os.path.join(own, CHILD), "w", encoding="ascii") as file:
        file.write(text)


def forget(own: str) -> None:
    try:
        os.unlink(os.path.join(own, CHILD))
    except FileNotFoundError:
        pass


def end_leftover(own: str) -> int:
    """End the program of a run that was killed, so that no task is worked on twice; its number."""
    try:
        with open(os.path.join(own, CHILD), encoding="ascii") as file:
            known = jsontext.loads(file.read())
        process, since = int(known["pid"]), str(known["started"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    ended = 0
    deadline = time.monotonic() + GRACE_SECONDS
    while lives(process, since):
        ended = process
        try:
            os.killpg(process, signal.SIGKILL if time.monotonic() > deadline else signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            break
        time.sleep(0.02)
    forget(own)
    return ended
