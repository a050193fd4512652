"""A copy of the sources without some folders, and a command line in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import holdfast

SOURCE = Path(holdfast.__file__).parent
# The first line of standard input is what the commands read there, each other line a command; each line of standard
# output is what came of one.
COMMANDS = """
import contextlib, io, json, sys
from holdfast.cli.frame import run
given, *lines = map(json.loads, sys.stdin)
for words in lines:
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    print(json.dumps({"code": code, "out": out.getvalue(), "err": err.getvalue()}))
"""
HOOK = "import sys; from holdfast.hooks.run import run; run(sys.argv[1:])"


class Tree:
    """A copy of the sources in `folder`, and `repository` to work in."""

    def __init__(self, folder: Path, repository: Path, without: Sequence[str] = ()) -> None:
        self.folder = folder
        self.repository = repository
        # With what is compiled already: each of a dozen processes would compile all of it.
        shutil.copytree(SOURCE, folder / "holdfast")
        self.path = [str(folder)]
        for name in without:
            shutil.rmtree(folder / "holdfast" / name)

    def _run(self, code: str, *words: str, given: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=self.repository,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(self.path),
                "HOLDFAST_ACTOR": "tester",
            },
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commands(self, *commands: Sequence[str], given: str = "") -> list[dict[str, Any]]:
        """Run commands in one process. Return the exit code and the output of each."""
        lines = "".join(f"{json.dumps(one)}\n" for one in (given, *map(list, commands)))
        return [json.loads(line) for line in self._run(COMMANDS, given=lines).splitlines()]

    def hook(self, *words: str, **payload: Any) -> str:
        """Send an event of a client, or a program's word. Return the answer."""
        told = {"session_id": "s9", "cwd": str(self.repository), **payload}
        return self._run(HOOK, *words, given=json.dumps(told))

    def python(self, code: str) -> str:
        return self._run(code, given="")
