"""Forwarders that are shot: whichever of them holds a workspace's lock, at a random moment of its life."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.remote.offline import path_of

if TYPE_CHECKING:
    from types import TracebackType

    from holdfast.kernel.workspace import Workspace

# Seconds; the first half second is the interpreter's, and what it loads.
LONGEST_LIFE = 2.0


def holder_of(path: str) -> int | None:
    """The forwarder that has the lock of a file, as the kernel tells. An agent's process takes the lock
    for an instant to see whether there is one; it is no forwarder."""
    try:
        inode = os.stat(path).st_ino
    except FileNotFoundError:
        return None
    for line in Path("/proc/locks").read_text().splitlines():
        # 1: FLOCK  ADVISORY  WRITE 4242 fe:00:123456 0 EOF
        words = line.split()
        if "FLOCK" in words and "->" not in words and words[5].endswith(f":{inode}"):
            return int(words[4]) if _is_forwarder(words[4]) else None
    return None


def _is_forwarder(process: str) -> bool:
    try:
        return b"\0forward\0" in Path("/proc", process, "cmdline").read_bytes() + b"\0"
    except OSError:
        return False


class Firing:
    """While it lasts, there is always a forwarder, and none lives long."""

    def __init__(self, workspace: Workspace, seed: int) -> None:
        self.kills = 0
        self._workspace = workspace
        self._chance = random.Random(seed)
        self._ended = threading.Event()
        self._own: list[subprocess.Popen[bytes]] = []
        self._thread = threading.Thread(target=self._fire)

    def _fire(self) -> None:
        while not self._ended.is_set():
            self._own.append(self._start())
            self._ended.wait(self._chance.uniform(0, LONGEST_LIFE))
            self.kills += self._shoot()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "holdfast", "journal", "forward"]
        return subprocess.Popen(
            [*command, "-C", self._workspace.root],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _shoot(self) -> int:
        """Ours, and the one that a hook had started before it; how many were at work."""
        held = holder_of(path_of(self._workspace))
        if held is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(held, signal.SIGKILL)
        for process in self._own:
            process.kill()
            process.wait()
        self._own.clear()
        return held is not None

    def __enter__(self) -> Firing:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        # One that a hook started may still be on its way to the lock.
        deadline = time.monotonic() + 2 * LONGEST_LIFE
        while time.monotonic() < deadline:
            self._shoot()
            time.sleep(0.1)
