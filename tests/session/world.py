"""What the tests of the tracker, of resuming and of the hooks share.

A module takes the fixtures that it needs by name: `linear = world.linear`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.claude import sessions as claude
from holdfast.hooks.run import command
from holdfast.kernel import failures
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.session import sessions
from tests import warm
from tests.cli import conftest as command_line
from tests.hooks import world as hooks_world
from tests.hooks.loaded import loaded_by_entry
from tests.trackers import fixtures
from tests.trackers.fake_github import REPOSITORY, FakeGitHub
from tests.trackers.fake_linear import FakeLinear

Answer = command_line.Answer
Holdfast = command_line.Holdfast
holdfast = command_line.holdfast
linear_server = fixtures.linear_server
github_server = fixtures.github_server

STATE = Path(".ccc-state.json")
PROGRESS = Path(".ccc-progress.md")
SAMPLES = Path(__file__).parent.parent / "hooks" / "samples"
PATIENCE = 30.0  # seconds for what must happen; a loaded machine is slow, not wrong
WORK = (
    "--issue",
    "ENG-12",
    "--title",
    "Parse dates",
    "--task",
    "Write the parser",
    "--status",
    "half done",
    "--done",
    "Read the issue",
    "--remaining",
    "Write the docs",
    "--next",
    "finish parse_date",
    "--file",
    "src/dates.py",
)
PROMPT = (
    "Resume ENG-12. Current task: task 2 of 3. Key files: src/dates.py.\n"
    "Next action: finish parse_date."
)

# The session of a `Conversation`.
TRANSCRIPT = "5e551011-0000-4000-8000-000000000001"


@pytest.fixture
def linear(linear_server: FakeLinear, monkeypatch: pytest.MonkeyPatch) -> FakeLinear:
    """Linear with the issue ENG-12, to which the environment leads."""
    monkeypatch.setenv("HOLDFAST_TRACKER_LINEAR_URL", linear_server.url)
    monkeypatch.setenv("LINEAR_API_KEY", linear_server.key)
    return linear_server


@pytest.fixture
def github(github_server: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> FakeGitHub:
    """GitHub with the issue #12, likewise."""
    monkeypatch.setenv("HOLDFAST_TRACKER_GITHUB_URL", github_server.url)
    monkeypatch.setenv("HOLDFAST_TRACKER_GITHUB_REPOSITORY", REPOSITORY)
    for name, value in github_server.environment().items():
        monkeypatch.setenv(name, value)
    return github_server


def step_of(answer: Answer, name: str = "Linear update") -> dict[str, Any]:
    """What became of one step of a checkpoint with `--json`."""
    (found,) = [step for step in answer.data["steps"] if step["name"] == name]
    return dict(found)


def state() -> dict[str, Any]:
    value = json.loads(STATE.read_text("utf-8"))
    assert isinstance(value, dict)
    return value


def set_state(**fields: object) -> None:
    STATE.write_text(json.dumps(fields), "utf-8")


def every_byte_under(root: Path) -> bytes:
    """All files of a folder, `.git` too, one after the other."""
    return b"\n".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def hook(
    event: str, sample: str = "", *, apart: bool = False, **changes: object
) -> subprocess.CompletedProcess[bytes]:
    """Claude Code's hook, with its own payload from this folder, in a process of its own. `apart`: one that
    leaves others behind, as the client's does."""
    payload = json.loads((SAMPLES / f"claude.{sample or event}.json").read_text("utf-8"))
    payload = {**payload, "cwd": str(Path.cwd()), **changes}
    done = send(json.dumps(payload).encode(), event, apart=apart)
    if event == "SessionEnd":
        _wait_for_the_end(str(payload.get("session_id") or ""))
    return done


def _wait_for_the_end(session: str) -> None:
    """The hook gives its client back after a moment, and a process goes on: on a loaded machine what
    it does comes later."""
    limit = time.monotonic() + 3
    while session and time.monotonic() < limit:
        workspace = discover()
        try:
            known = workspace.exists() and sessions.read(workspace, session)
        except HoldfastError:
            return
        finally:
            workspace.close()
        if (known and known["ended_at"]) or failures.read(workspace):
            return
        time.sleep(0.05)


def send(payload: bytes, event: str, *, apart: bool = False) -> subprocess.CompletedProcess[bytes]:
    if not apart:
        return hooks_world.send("claude", event, payload)
    words = command("claude", event)
    return warm.run(words, input=payload, capture_output=True, timeout=PATIENCE)


def said(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """The hook's answer: one JSON object, or nothing; the exit code is always 0."""
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout or b"{}")
    assert isinstance(value, dict)
    return value


def loaded_by(client: str, event: str, payload: dict[str, Any]) -> set[str]:
    """The modules that a hook had loaded when it ended."""
    return loaded_by_entry(command(client, event), json.dumps(payload).encode())


def fake_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `git` first in PATH that writes a marker and fails; the marker."""
    folder.mkdir()
    marker = folder / "called"
    program = folder / "git"
    program.write_text(f'#!/bin/sh\necho "$@" >> {marker}\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return marker


def wait_for(what: Callable[[], object]) -> None:
    """Until it is true; a test must not wait for ever."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether this process has not ended. Of one that has, an entry may be left until its parent looks."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def holdfast_process(*words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    started = [sys.executable, "-m", "holdfast", *words]
    return warm.run(started, capture_output=True, text=True, timeout=PATIENCE)


def stated(prompt: str) -> str:
    """A continuation prompt as a pack shows it: the current task has a line of its own there."""
    return "\n".join(f"- {line}" for line in prompt.split("\n")[:2])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


class Conversation:
    """A transcript of Claude Code, edit by edit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lines: list[dict[str, Any]] = []
        self.seconds = 0
        self.add("user", {"role": "user", "content": "Please do the work that is to be done here."})

    def add(self, kind: str, message: dict[str, Any]) -> None:
        at = f"2026-11-12T10:00:{self.seconds:02d}.000Z"
        self.seconds += 1
        line = {"type": kind, "cwd": str(self.root), "sessionId": TRANSCRIPT, "timestamp": at}
        self.lines.append({**line, "message": message})

    def edit(self, path: str, old: str, new: str, *, ends: bool | None = False) -> None:
        given = {"file_path": str(self.root / path), "old_string": old, "new_string": new}
        self.call("Edit", given, ends)

    def write(self, path: str, text: str) -> None:
        self.call("Write", {"file_path": str(self.root / path), "content": text}, False)

    def call(self, tool: str, given: dict[str, Any], ends: bool | None) -> None:
        id = f"toolu_{self.seconds}"
        block = {"type": "tool_use", "id": id, "name": tool, "input": given}
        self.add("assistant", {"role": "assistant", "id": f"msg{id}", "content": [block]})
        if ends is not None:
            result = {"type": "tool_result", "tool_use_id": id, "content": "ok", "is_error": ends}
            self.add("user", {"role": "user", "content": [result]})

    def plan(self, **tasks: str) -> None:
        """Write the list of tasks: `plan(Parser="in_progress", Docs="pending")`."""
        todos = [{"content": task, "status": state} for task, state in tasks.items()]
        self.call("TodoWrite", {"todos": todos}, False)

    @property
    def path(self) -> str:
        return f"{claude.folder_of(str(self.root))}/{TRANSCRIPT}.jsonl"

    def leave(self) -> None:
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in self.lines))


@pytest.fixture
def conversation(repository: Path, home: Path) -> Conversation:
    return Conversation(repository)
