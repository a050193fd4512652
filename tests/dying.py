"""The command line in a process that kills itself at a named point (see `holdfast.kernel.crash`).

The process is forked by a server that has the command line loaded already: a new interpreter for each
was a tenth of a second.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

PATIENCE = 60
LOADED = (
    *("holdfast.cli.frame", "holdfast.cli.parser", "holdfast.session.checkpoint"),
    *("holdfast.rfc.write", "holdfast.rfc.transition", "holdfast.budgets.check", "click"),
)
_APART = multiprocessing.get_context("forkserver")
_APART.set_forkserver_preload([*LOADED])


def die_at(point: str, *words: str, number: int = 1) -> None:
    """Run `holdfast words` until it reaches the point for the number-th time."""
    environment = {**os.environ, "HOLDFAST_ACTOR": "tester"}
    process = _APART.Process(target=_run, args=(os.getcwd(), environment, point, number, words))
    process.start()
    process.join(PATIENCE)
    code = process.exitcode
    process.kill()
    process.join()
    process.close()
    assert code == -signal.SIGKILL, code


def _run(
    folder: str, environment: dict[str, str], point: str, number: int, words: tuple[str, ...]
) -> None:
    from holdfast.cli.frame import run
    from holdfast.kernel import crash

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    crash.register(point, lambda: os.kill(os.getpid(), signal.SIGKILL), number=number)
    sys.exit(run(words))
