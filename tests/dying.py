"""The command line in a process that kills itself at a named point (see `holdfast.kernel.crash`)."""

from __future__ import annotations

import os
import signal
import sys

from tests import warm

PATIENCE = 60
PROGRAM = """
import os, signal, sys
from holdfast.cli.frame import run
from holdfast.kernel import crash

point, number, *words = sys.argv[1:]
crash.register(point, lambda: os.kill(os.getpid(), signal.SIGKILL), number=int(number))
sys.exit(run(words))
"""


def die_at(point: str, *words: str, number: int = 1, typed: str = "") -> None:
    """Run `holdfast words` until it reaches the point for the number-th time."""
    done = warm.run(
        [sys.executable, "-c", PROGRAM, point, str(number), *words],
        capture_output=True,
        input=typed.encode(),
        timeout=PATIENCE,
        env={**os.environ, "HOLDFAST_ACTOR": "tester"},
    )
    assert done.returncode == -signal.SIGKILL, done
