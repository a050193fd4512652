"""A person at a terminal of their own: a real pty, a session of its own, the word typed back."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast.kernel.rules import Person
from holdfast.people import person as people
from tests import warm

PATIENCE = 30.0  # seconds for what must happen; a loaded machine is slow, not wrong
QUESTION = re.compile(rb"type ([a-z]+-[a-z]+) and Enter: $")

Type = Callable[[bytes], bytes | None]


class Seen(NamedTuple):
    """How the command ended, and all that stood on the screen."""

    code: int
    screen: str


def _start_script(words: list[str], *, terminal: str, **options: Any) -> subprocess.Popen[bytes]:
    """A program of a user of the library; this terminal is its own."""
    with open(terminal, "r+b", buffering=0) as screen:
        ends = dict.fromkeys(("stdin", "stdout", "stderr"), screen)
        return subprocess.Popen(["setsid", "--ctty", "--wait", *words], **{**options, **ends})


def _arguments(words: tuple[str, ...], script: str, program: str) -> tuple[str, ...]:
    if script:
        return ("-c", script)
    return ("-c", program, *words) if program else ("-m", "holdfast", *words)


class Terminal:
    """A terminal in which a command runs, a `script` in Python, or a `program` that gets the words and is
    forked, as the command is."""

    def __init__(
        self,
        *words: str,
        environment: dict[str, str] | None = None,
        columns: int = 80,
        script: str = "",
        program: str = "",
    ) -> None:
        self._master, slave = os.openpty()
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        start = _start_script if script else warm.start
        self._process = start(
            [sys.executable, *_arguments(words, script, program)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "NO_COLOR": "1", **(environment or {})},
            terminal=os.ttyname(slave),
        )
        # Kept open: a terminal whose last reader has gone would be closed before we read it.
        self._slave = slave
        self.screen = b""

    def read_until(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        end = time.monotonic() + PATIENCE
        while not (found := pattern.search(self.screen)):
            assert time.monotonic() < end, self.screen.decode("utf-8", "replace")
            self._read()
        return found

    def type(self, text: bytes) -> None:
        os.write(self._master, text)

    def type_back(self) -> None:
        """What a person does."""
        self.type(self.read_until(QUESTION).group(1) + b"\n")

    def leave(self) -> Seen:
        """Wait for the command's end."""
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            assert time.monotonic() < end, self.screen.decode("utf-8", "replace")
            self._read(0.01)
        # Ours was the last: the terminal says when all was read.
        os.close(self._slave)
        while self._read():
            pass
        os.close(self._master)
        screen = self.screen.decode("utf-8", "replace").replace("\r\n", "\n")
        return Seen(self._process.returncode, screen)

    def _read(self, seconds: float = 0.05) -> bool:
        """Whether there was something to read within this time."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            self.screen += os.read(self._master, 65536)
        except OSError:  # no process has this terminal any more
            return False
        return True


def seen(person: Person) -> Person:
    """A person as the channel of this process gives it; that channel has tests of its own."""
    return people._remember(person)


def at_page(terminal: str, *, now: int) -> Person:
    """The person at the page, as the process that serves it sees them."""
    people.open_page()
    return people.at_page(terminal, now=now)


def answers(*words: str, columns: int = 80) -> Seen:
    """A person runs `holdfast gate answer ...` and types back the word."""
    terminal = Terminal("gate", "answer", *words, columns=columns)
    terminal.type_back()
    return terminal.leave()


def does(*words: str) -> Seen:
    """A person runs a command at a terminal and types back the word."""
    terminal = Terminal(*words)
    terminal.type_back()
    return terminal.leave()
