"""The main story, told by doing it: real processes, a real repository, a real kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A writer that says on its standard output what is durable, until somebody kills it.
_WRITER = """
import sys, holdfast
with holdfast.open(actor="agent-1") as workspace:
    for number in range(1, 1000):
        outcome = workspace.note(f"Step {number} is done.", name="work")
        print(outcome["id"], flush=True)
"""
ACKNOWLEDGED = 25


def tell() -> Iterator[str]:
    """Play the story in a temporary repository; each line is something that just happened."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")
        }
        _run(["git", "init", "--quiet", folder], folder, environment)
        yield "A repository, and an agent that works in it."
        acknowledged = _work_until_killed(folder, environment)
        yield f"The agent got {len(acknowledged)} acknowledgments, then kill -9 in the middle."
        history = _holdfast(
            ["history", "note:work", "--limit", "1000", "--json"], folder, environment
        )
        lost = [id for id in acknowledged if id not in history]
        if lost:
            raise HoldfastError(f"{len(lost)} acknowledged notes are gone.", kind="demo_failed")
        yield "All of them are in the journal. The next agent takes over:"
        _holdfast(["note", "I go on from here.", "--to", "work"], folder, environment)
        with open(os.path.join(folder, ".notes", "work.md"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        yield from (f"    {line}" for line in lines[-3:])
        yield "Somebody edits the file by hand; it becomes a record like any other:"
        with open(os.path.join(folder, ".notes", "work.md"), "a", encoding="utf-8") as file:
            file.write("- Remember the release notes.\n")
        _holdfast(["note", "Thanks, noted.", "--to", "work"], folder, environment)
        listing = _holdfast(["history", "note:work", "--limit", "2"], folder, environment)
        yield from (f"    {line}" for line in listing.splitlines())
        verdict = _holdfast(["verify"], folder, environment).strip()
        yield f"The hash chains, record by record: {verdict}"


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


def _holdfast(arguments: list[str], folder: str, environment: dict[str, str]) -> str:
    return _run([sys.executable, "-m", "holdfast", *arguments], folder, environment)


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
