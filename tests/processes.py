"""The command line in a process of its own, and a wait for what it does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.kernel.rules import Person
from tests import warm

PERSON = Person(name="ada", channel="terminal", terminal="/dev/pts/7", at="2026-11-15T12:00:00Z")
PATIENCE = 120.0  # seconds for what must happen; a loaded machine is slow, not wrong


def process(*words: str, cwd: Path | None = None, **environment: str) -> warm.Process:
    """Start the command line, in the current folder or another one."""
    return warm.start(
        [sys.executable, "-m", "holdfast", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "HOLDFAST_ACTOR": "tester", **environment},
    )


def wait_for(what: Callable[[], object]) -> None:
    """Wait until it is true; a test must not wait for ever."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
