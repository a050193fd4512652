"""The main story with real processes, a real repository and a real kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile

from holdfast.kernel.errors import HoldfastError
from holdfast.processes import relaunch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A writer that prints what is durable, until it is killed.
_WRITER = """
import sys, holdfast
with holdfast.open(actor="agent-1") as workspace:
    for number in range(1, 1000):
        outcome = workspace.note(f"Step {number} is done.", name="work")
        print(outcome["id"], flush=True)
"""
ACKNOWLEDGED = 25
# The story's own git identity, so that it needs none of the user's.
_IDENTITY = ["-c", "user.name=demo", "-c", "user.email=demo@holdfast.invalid"]


def tell() -> Iterator[str]:
    """Play the story in a temporary repository, and yield a line for each thing that happened."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        stage = _Stage(folder)
        yield from _work_and_checkpoint(stage)
        yield from _killed_in_the_middle(stage)
        yield from _resumed_elsewhere(stage)
        verdict = stage.holdfast("verify").strip()
        yield f"The hash chains, record by record: {verdict}"


def _work_and_checkpoint(stage: _Stage) -> Iterator[str]:
    stage.write("parser.py", "def parse(text):\n    return text.split()\n")
    stage.git("init", "--quiet", "--initial-branch", "cia-7-parser")
    stage.write(".gitignore", ".notes/\n.ccc-*\n")
    stage.git("add", "parser.py", ".gitignore")
    stage.git(*_IDENTITY, "commit", "--quiet", "--message", "A parser")
    stage.write("parser.py", "def parse(text):\n    return [word for word in text.split()]\n")
    yield "An agent works on CIA-7 and comes near the end of its context. It checkpoints:"
    said = stage.holdfast(
        *("checkpoint", "--issue", "CIA-7", "--title", "A parser", "--skip-git"),
        *("--task", "Handle quotes", "--status", "half done", "--remaining", "Write the docs"),
        *("--decision", "split on blanks: quotes come second", "--file", "parser.py"),
        *("--next", "make parse() keep quoted words together"),
        *("--claim", "the parser is there", "file:parser.py"),
    )
    yield from (f"    {line}" for line in said.splitlines())


def _killed_in_the_middle(stage: _Stage) -> Iterator[str]:
    acknowledged = _work_until_killed(stage.folder, stage.environment)
    yield f"It goes on, gets {len(acknowledged)} acknowledgments, and then kill -9 in the middle."
    history = stage.holdfast("history", "note:work", "--limit", "1000", "--json")
    lost = [id for id in acknowledged if id not in history]
    if lost:
        raise HoldfastError(f"{len(lost)} acknowledged notes are gone.", kind="demo_failed")
    yield "Every acknowledged note is in the journal."


def _resumed_elsewhere(stage: _Stage) -> Iterator[str]:
    yield "A fresh process resumes:"
    yield from (f"    {line}" for line in stage.holdfast("resume").splitlines())
    stage.write("parser.py", "def parse(text):\n    raise NotImplementedError\n")
    yield "After a change in between, it says so:"
    yield from (f"    {line}" for line in stage.holdfast("resume").splitlines()[:2])
    stage.holdfast("snapshot", "restore", stage.first_snapshot())
    yield "And the work tree as it was is one command away:"
    yield from (f"    {line}" for line in stage.holdfast("resume").splitlines()[:1])


class _Stage:
    """A temporary repository, and the commands that run in it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        # Neither this user's settings nor the session of an agent that runs the demo.
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HOLDFAST_", "CLAUDE", "CCC_", "GIT_"))
        }

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words: str) -> str:
        return _run(["git", *words], self.folder, self.environment)

    def first_snapshot(self) -> str:
        listing = json.loads(self.holdfast("snapshot", "list", "--json"))
        return str(listing["data"]["snapshots"][-1]["id"])

    def holdfast(self, *words: str) -> str:
        return _run(relaunch.command(*words), self.folder, self.environment)


def _work_until_killed(folder: str, environment: dict[str, str]) -> list[str]:
    agent = subprocess.Popen(
        [sys.executable, "-c", _WRITER],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdout is not None
    acknowledged = [agent.stdout.readline().strip() for _ in range(ACKNOWLEDGED)]
    agent.send_signal(signal.SIGKILL)
    acknowledged += [line.strip() for line in agent.stdout if line.endswith("\n")]
    agent.wait()
    agent.stdout.close()
    return [id for id in acknowledged if id]


def _run(command: list[str], folder: str, environment: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise HoldfastError(
            f"{command[0]} is not installed.", hint="The demo needs git.", kind="demo_failed"
        ) from None
    if done.returncode != 0:
        raise HoldfastError(
            f"`{' '.join(command[-3:])}` failed: {done.stderr.strip()}", kind="demo_failed"
        )
    return done.stdout
