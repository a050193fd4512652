"""DBOS on SQLite: one workflow of one step, in a process of its own.

It has a dozen threads, which would take time from everybody else's measurements. The process does
one workflow for each line it reads, and answers with the seconds that it took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from bench.harness import environment, python


class Worker:
    """The other side: a contender that asks the process for one workflow."""

    def __init__(self, folder: str) -> None:
        self._process = subprocess.Popen(
            python("-m", "bench.peer_dbos", os.path.join(folder, "dbos.db")),
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if self._ask(None) is None:
            raise RuntimeError("DBOS did not start")

    def __call__(self, body: dict[str, Any]) -> float:
        taken = self._ask(body)
        if taken is None:
            raise RuntimeError("DBOS stopped")
        return taken

    def _ask(self, body: dict[str, Any] | None) -> float | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{json.dumps(body)}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self._process.stdout.readline()
        return float(line) if line else None

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def serve(path: str) -> None:
    from dbos import DBOS

    # Whatever it prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    config: Any = {
        "name": "bench",
        "system_database_url": f"sqlite:///{path}",
        "log_level": "CRITICAL",
        "enable_otlp": False,
    }
    DBOS(config=config)

    def keep(body: dict[str, Any]) -> dict[str, Any]:
        return body

    step = DBOS.step()(keep)

    def run(body: dict[str, Any]) -> int:
        step(body)
        return 0

    workflow = DBOS.workflow()(run)
    DBOS.launch()
    try:
        for line in sys.stdin:
            body = json.loads(line)
            start = time.perf_counter()
            if body is not None:
                workflow(body)
            print(time.perf_counter() - start, file=answers)
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    serve(sys.argv[1])
