"""The story that `holdfast demo` tells, with real processes, a real repository and a real kill -9."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Literal, NamedTuple

from holdfast.kernel.errors import HoldfastError
from holdfast.maintenance import demo_agent
from holdfast.processes import relaunch

Kind = Literal["chapter", "text", "does", "command", "output", "end"]

PARSER = f"def parse(text):\n{demo_agent.BEFORE}"
TEST = """\
import unittest

from parser import parse


class Parse(unittest.TestCase):
    def test_quoted_words(self):
        self.assertEqual(parse('say "two words"'), ["say", "two words"])

    def test_apostrophe(self):
        self.assertEqual(parse("don't stop"), ["don't", "stop"])
"""
# What the story shows of the agent: three calls and its last words.
_DEEDS = 4
# The story's own git identity, so that it needs none of the user's.
_IDENTITY = ["-c", "user.name=demo", "-c", "user.email=demo@holdfast.invalid"]
# The call about which the client asks its hook after the budget's stop.
_TOOL = json.dumps(
    {
        "session_id": "demo",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make deploy"},
    }
)


class StoryLine(NamedTuple):
    """One thing that happened, and how to show it."""

    kind: Kind
    text: str


def tell() -> Iterator[StoryLine]:
    """Play the story in a temporary repository, and yield a line for each thing that happened."""
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        stage = _Stage(os.path.realpath(folder))
        yield from _killed_in_the_middle(stage)
        yield from _resumed(stage)
        yield from _asked_a_person(stage)
        yield from _stopped_by_a_budget(stage)
        yield StoryLine("end", "In a repository of your own: holdfast resume")


def _killed_in_the_middle(stage: _Stage) -> Iterator[StoryLine]:
    stage.write("parser.py", PARSER)
    stage.write("test_parser.py", TEST)
    stage.write("README.md", "parse() splits a text into words.\n")
    stage.git("init", "--quiet", "--initial-branch", "quotes")
    stage.git("add", ".")
    stage.git(*_IDENTITY, "commit", "--quiet", "--message", "A parser")
    yield StoryLine("chapter", "1. An agent works, and dies in the middle")
    yield StoryLine(
        "text",
        "A stand-in for Claude Code: no model, but real edits, a real test, and the same transcript.",
    )
    yield StoryLine("does", f"The person: {demo_agent.REQUEST}")
    agent = stage.start_agent()
    assert agent.stdout is not None
    for _ in range(_DEEDS):
        deed = agent.stdout.readline().strip()
        if not deed:
            agent.wait()
            raise HoldfastError("The stand-in ended too early.", kind="demo_failed")
        yield StoryLine("does", f"The agent {deed}")
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    agent.stdout.close()
    yield StoryLine(
        "does", f"kill -9 {agent.pid}: no hook ran, nothing was saved, nothing was set up"
    )


def _resumed(stage: _Stage) -> Iterator[StoryLine]:
    yield StoryLine("chapter", "2. The next session, of any client, knows what it needs")
    yield StoryLine("command", "holdfast resume")
    pack = stage.holdfast("resume")
    for known in ("shlex", "Don't change the signature", demo_agent.TEST, "Next I pass"):
        if known not in pack:
            raise HoldfastError(f"The text does not hold {known!r}.", kind="demo_failed")
    yield from (StoryLine("output", line) for line in pack.splitlines())
    yield StoryLine(
        "text", "The request, the ruling, the failing test with its error, the next step."
    )


def _asked_a_person(stage: _Stage) -> Iterator[StoryLine]:
    yield StoryLine("chapter", "3. A question waits for a person, and an agent cannot answer it")
    command = 'holdfast gate verify --built "quotes stay" --how "tests pass" --name quotes'
    yield StoryLine("command", command)
    said = stage.holdfast(*shlex.split(command)[1:])
    yield StoryLine("output", said.splitlines()[-1])
    yield StoryLine("command", "holdfast gate answer quotes approved      # typed by the agent")
    refused = stage.refused("gate", "answer", "quotes", "approved", code=4, CLAUDECODE="1")
    yield StoryLine("output", refused.splitlines()[0])


def _stopped_by_a_budget(stage: _Stage) -> Iterator[StoryLine]:
    yield StoryLine("chapter", "4. A budget really stops")
    os.mkdir(os.path.join(stage.folder, ".autopilot"))
    yield StoryLine("command", "holdfast guard check --cost 55")
    stopped = stage.refused("guard", "check", "--cost", "55", code=7)
    yield StoryLine("output", stopped.splitlines()[0])
    yield StoryLine("text", "The hook that the agent's client calls refuses the next tool:")
    yield StoryLine("command", "holdfast hook claude PreToolUse           # called by the client")
    answer = json.loads(stage.holdfast("hook", "claude", "PreToolUse", given=_TOOL))
    ruling = answer["hookSpecificOutput"]
    said = f"{ruling['permissionDecision']}: {ruling['permissionDecisionReason']}"
    yield from (StoryLine("output", line) for line in said.splitlines())


class _Stage:
    """A temporary home with a repository in it, and the commands that run there."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.folder = os.path.join(home, "repository")
        os.mkdir(self.folder)
        # Neither this user's settings nor the session of an agent that runs the demo.
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ},
            "HOME": home,
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words: str) -> None:
        self._done(["git", *words])

    def start_agent(self) -> subprocess.Popen[str]:
        words = [sys.executable, "-P", "-m", demo_agent.__name__, self.home, self.folder]
        return subprocess.Popen(
            words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True
        )

    def holdfast(self, *words: str, given: str = "") -> str:
        return self._done(relaunch.command(*words), given=given).stdout

    def refused(self, *words: str, code: int, **environment: str) -> str:
        """What a command prints that has to end with this exit code."""
        done = self._done(relaunch.command(*words), code=code, **environment)
        return f"{done.stdout}{done.stderr}"

    def _done(
        self, command: list[str], *, given: str = "", code: int = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env={**self.environment, **environment},
                input=given,
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError:
            raise HoldfastError(
                f"{command[0]} is not installed.", hint="The demo needs git.", kind="demo_failed"
            ) from None
        if done.returncode != code:
            raise HoldfastError(
                f"`{' '.join(command[-3:])}` ended with {done.returncode}: {done.stderr.strip()}",
                kind="demo_failed",
            )
        return done
