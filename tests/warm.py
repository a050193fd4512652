"""Processes of their own without the start of an interpreter.

A third of the suite's CPU time went into some thousand interpreters that imported the same modules.
Where a test needs a process (its own memory, signals, terminal, locks, `kill -9`) and not its start,
it takes `start` or `run` of this module, with the words and most options of `subprocess`. A nursery,
one for each worker of pytest, has imported the modules already and forks.

What differs from a real start: `/proc/PID/cmdline` and `/proc/PID/environ` are the nursery's, and so
is the parent; `-I`, `-S`, `-P` and `PYTHON...` variables have no effect. The tests of the hooks' entry,
of the launcher and of what a start loads therefore start real interpreters.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import holdfast
from holdfast.kernel.text import split_words

PIPE, DEVNULL, STDOUT = subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT
# A request is one message; text that a process reads goes through its pipe.
LARGEST = 128 * 1024
PROJECT = Path(__file__).parent.parent
Folder = str | os.PathLike[str] | None


class Process:
    """A process of the nursery, as `subprocess.Popen` shows one."""

    def __init__(
        self,
        words: Sequence[object],
        *,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        cwd: Folder = None,
        env: Mapping[str, str] | None = None,
        text: bool = False,
        start_new_session: bool = False,
        terminal: str = "",
    ) -> None:
        self.args = [str(word) for word in words]
        self.returncode: Any = None
        self._text = text
        ours: list[int] = []
        theirs: list[int] = []

        def end_of(chosen: Any, standard: int) -> tuple[int, int]:
            """The process' descriptor, and ours where it is a pipe."""
            if chosen is None:
                return standard, -1
            if chosen == DEVNULL:
                theirs.append(os.open(os.devnull, os.O_RDWR))
                return theirs[-1], -1
            if chosen != PIPE:
                return (chosen if isinstance(chosen, int) else chosen.fileno()), -1
            reader, writer = os.pipe()
            its, own = (reader, writer) if standard == 0 else (writer, reader)
            theirs.append(its)
            ours.append(own)
            return its, own

        its_in, own_in = end_of(stdin, 0)
        its_out, own_out = end_of(stdout, 1)
        its_err, own_err = (its_out, -1) if stderr == STDOUT else end_of(stderr, 2)
        self._status, status = os.pipe()
        theirs.append(status)
        request = {
            "words": self.args[1:],
            "folder": os.path.abspath(cwd or os.getcwd()),
            "environment": dict(os.environ if env is None else env),
            "session": start_new_session or bool(terminal),
            "terminal": terminal,
        }
        try:
            try:
                _nursery.send(request, [its_in, its_out, its_err, status])
            finally:
                # Before the wait: a nursery that has gone is then noticed.
                for descriptor in theirs:
                    os.close(descriptor)
            first = self._told(None)
            assert first is not None, "it has no time limit"
            assert first > 0, "the nursery has gone"
            self.pid = first
        except BaseException:
            for descriptor in (*ours, self._status):
                os.close(descriptor)
            raise
        self.stdin: IO[Any] | None = self._opened(own_in, "w")
        self.stdout: IO[Any] | None = self._opened(own_out, "r")
        self.stderr: IO[Any] | None = self._opened(own_err, "r")

    def _opened(self, descriptor: int, mode: str) -> IO[Any] | None:
        if descriptor < 0:
            return None
        if self._text:
            return open(descriptor, mode, encoding="utf-8")
        return open(descriptor, f"{mode}b")

    def _told(self, timeout: float | None) -> int | None:
        """The next number that the nursery says of this process: its id, and how it ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._status, selectors.EVENT_READ)
            if not selector.select(timeout):
                return None
        number = b""
        while (letter := os.read(self._status, 1)) not in (b"", b"\n"):
            number += letter
        return int(number) if number else -int(signal.SIGKILL)  # the nursery was killed with it

    def poll(self) -> int | None:
        return self._wait(0)

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and (code := self._told(timeout)) is not None:
            self.returncode = code
            os.close(self._status)
        found: int | None = self.returncode
        return found

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, sign: int) -> None:
        if self.poll() is None:
            # The process that forked it may have waited for its end meanwhile.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sign)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Write `input`, read all output and wait for the end."""
        end = None if timeout is None else time.monotonic() + timeout
        rest = memoryview(input.encode() if isinstance(input, str) else input or b"")
        found: dict[int, list[bytes]] = {}
        with selectors.DefaultSelector() as selector:
            if self.stdin is not None and not self.stdin.closed:
                self.stdin.flush()
                if rest:
                    os.set_blocking(self.stdin.fileno(), False)
                    selector.register(self.stdin, selectors.EVENT_WRITE)
                else:
                    self.stdin.close()
            for stream in (self.stdout, self.stderr):
                if stream is not None and not stream.closed:
                    selector.register(stream, selectors.EVENT_READ)
                    found[stream.fileno()] = []
            descriptors = [
                stream.fileno() if stream is not None and not stream.closed else -1
                for stream in (self.stdout, self.stderr)
            ]
            while selector.get_map():
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                for key, _ in selector.select(left):
                    if key.fileobj is self.stdin:
                        try:
                            rest = rest[os.write(key.fd, rest[: 1 << 16]) :]
                        except BrokenPipeError:
                            rest = memoryview(b"")
                        if not rest:
                            selector.unregister(key.fileobj)
                            with contextlib.suppress(BrokenPipeError):
                                self.stdin.close()
                    elif chunk := os.read(key.fd, 1 << 16):
                        found[key.fd].append(chunk)
                    else:
                        selector.unregister(key.fileobj)
        self.wait(None if end is None else max(end - time.monotonic(), 0))
        texts = [b"".join(found[one]) if one in found else None for one in descriptors]
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        if self._text:
            return tuple(None if one is None else one.decode() for one in texts)  # type: ignore[return-value]
        return texts[0], texts[1]

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()

    def __del__(self) -> None:
        if self.returncode is None and hasattr(self, "pid"):
            os.close(self._status)


start = Process


def run(
    words: Sequence[object],
    *,
    input: str | bytes | None = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`."""
    if input is not None:
        options["stdin"] = PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = PIPE
    process = Process(words, **options)
    try:
        out, err = process.communicate(input, timeout)
    except BaseException:
        process.kill()
        process.wait()
        raise
    code = process.wait()
    if check and code:
        raise subprocess.CalledProcessError(code, process.args, out, err)
    return subprocess.CompletedProcess(process.args, code, out, err)


class _Nursery:
    """The process that forks for this one; begun when it is first needed."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def send(self, request: dict[str, object], descriptors: list[int]) -> None:
        with self._lock:
            if self._socket is None or self._owner != os.getpid():
                self._begin()
        assert self._socket is not None
        message = json.dumps(request).encode()
        assert len(message) < LARGEST, "put it into a file"
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        self._socket.sendmsg([message], [rights])

    def _begin(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for one in (ours, theirs):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LARGEST)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(theirs.fileno())],
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._socket, self._owner = ours, os.getpid()
        atexit.register(self._end, process, os.getpid())

    def _end(self, process: subprocess.Popen[bytes], owner: int) -> None:
        if os.getpid() == owner and self._socket is not None:
            self._socket.close()
            process.wait()


_nursery = _Nursery()


# The nursery's own side


def _serve(control: socket.socket) -> None:
    """Fork for each request; tell how each process ended. Without anyone to ask, leave."""
    _load_all()
    wakes, wake = os.pipe()
    for one in (wakes, wake):
        os.set_blocking(one, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl+C is for pytest
    living: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(wakes, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is control:
                    message, descriptors, _, _ = socket.recv_fds(control, LARGEST, 4)
                    if not message:
                        return
                    request = json.loads(message)
                    _load(request["words"])
                    child = os.fork()
                    if not child:
                        signal.set_wakeup_fd(-1)
                        selector.close()
                        for one in (wake, wakes, *living.values()):
                            os.close(one)
                        control.close()
                        _become(request, descriptors)
                    os.write(descriptors[3], f"{child}\n".encode())
                    living[child] = descriptors[3]
                    for one in descriptors[:3]:
                        os.close(one)
                else:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wakes, 4096)
                    _reap(living)


def _reap(living: dict[int, int]) -> None:
    while living:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        told = living.pop(child)
        with contextlib.suppress(BrokenPipeError):
            os.write(told, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(told)


# Large, and not for every process.
LATER = {"mcp": "holdfast.mcp.server", "serve": "holdfast.web.server"}
NOT_LOADED = split_words(
    "holdfast.__main__ holdfast.hooks.entry holdfast.mcp holdfast.web "
    "holdfast.journal.postgres holdfast.contrib"
)


def _load_all() -> None:
    for found in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if found.name.startswith(NOT_LOADED):
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as missing:
            # The smoke set of another Python has no package of an extra, such as the MCP SDK.
            if str(missing.name).startswith("holdfast"):
                raise
    gc.collect()
    gc.freeze()


def _load(words: list[str]) -> None:
    verbs = words[2:3] if words[:2] == ["-m", "holdfast"] else []
    if words[0] == "-c":
        verbs = [verb for verb in LATER if f'["{verb}"]' in words[1] or LATER[verb] in words[1]]
    for verb in verbs:
        if verb in LATER and LATER[verb] not in sys.modules:
            importlib.import_module(LATER[verb])
            gc.collect()
            gc.freeze()


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Be the process that was asked for. It never returns."""
    code = 1
    try:
        gc.enable()
        for sign in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(sign, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if request["session"]:
            os.setsid()
        for number, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, number)
        if request["terminal"]:
            # Opening a terminal without a controlling one makes it that.
            terminal = os.open(request["terminal"], os.O_RDWR)
            for number in range(3):
                os.dup2(terminal, number)
            os.close(terminal)
        for descriptor in descriptors:
            os.close(descriptor)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        time.tzset()
        _open_standard_streams()
        code = _execute(request["words"])
    except SystemExit as left:
        code = _code_of(left)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _open_standard_streams() -> None:
    """As an interpreter opens them in the locale C.UTF-8."""
    opened = io.open
    lines = os.isatty(1)
    sys.stdin = sys.__stdin__ = opened(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = opened(  # type: ignore[misc]
        1,
        "w",
        encoding="utf-8",
        errors="surrogateescape",
        closefd=False,
        buffering=1 if lines else -1,
    )
    sys.stderr = sys.__stderr__ = opened(  # type: ignore[misc]
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )


def _code_of(left: SystemExit) -> int:
    if left.code is None or isinstance(left.code, int):
        return left.code or 0
    print(left.code, file=sys.stderr)
    return 1


def _execute(words: list[str]) -> int:
    while words[0] in ("-P", "-I", "-S", "-u"):
        words = words[1:]
    atexit._clear()
    first = words[0]
    if first == "-m":
        sys.argv = [first, *words[2:]]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = [first, *words[2:]]
        sys.path.insert(0, "")
        main = types.ModuleType("__main__")
        main.__dict__["__builtins__"] = __builtins__
        sys.modules["__main__"] = main
        exec(compile(words[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv = list(words)
        sys.path.insert(0, os.path.dirname(os.path.abspath(first)))
        runpy.run_path(first, run_name="__main__")
    return 0


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)
