"""A client's hook that waits for an answer, as a process of its own, and the people who answer it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.answers.answer import list_open, read
from holdfast.hooks.run import command
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.people import page_open
from tests.hooks.world import payload_of

PATIENCE = 30.0  # seconds for what must happen; a loaded machine is slow, not wrong
ASKED = "claude.PermissionRequest"
CHOICE = "claude.PermissionRequest.question"


def wait_until(holds: Callable[[], Any], *, said: object = "") -> Any:
    """Return what a function finds, as soon as it finds something."""
    ends = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < ends, said or "it never came"
        time.sleep(0.01)
    return found


class Ended(NamedTuple):
    """What the hook told its client, and how long after `since` that was."""

    code: int
    said: dict[str, Any]
    seconds: float


class Hook:
    """The hook of a client that asks its person something."""

    def __init__(
        self, stem: str = ASKED, *, variables: dict[str, str] | None = None, **changes: Any
    ):
        self.payload = payload_of(stem, **{"session_id": "s1", **changes})
        client, event = stem.split(".")[:2]
        attended = {"CLAUDE_CODE_SESSION_ATTENDED": "1"} if client == "claude" else {}
        environment = {**os.environ, **attended, **(variables or {})}
        self.process = subprocess.Popen(
            command(client, event),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(self.payload))
        self.process.stdin.close()
        self.process.stdin = None

    def question(self) -> dict[str, Any]:
        """The question, as soon as it can be answered."""

        def look() -> Any:
            assert self.process.poll() is None, self.process.communicate()
            workspace = discover()
            try:
                mine = [
                    one
                    for one in list_open(workspace, clock.now())
                    if one["process"] and one["process"]["pid"] == self.process.pid
                ]
            finally:
                workspace.close()
            return mine[0] if mine else None

        found: dict[str, Any] = wait_until(look, said="it asked nothing")
        return found

    def end(self, since: float | None = None) -> Ended:
        began = time.monotonic() if since is None else since
        out, _ = self.process.communicate(timeout=PATIENCE)
        seconds = time.monotonic() - began
        return Ended(self.process.returncode, json.loads(out) if out.strip() else {}, seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def decision(said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = said["hookSpecificOutput"]["decision"]
    return found


def settled(id: str) -> dict[str, Any]:
    """What is recorded of a question that waits no longer."""
    workspace = discover()
    try:
        known = [one for one in read(workspace)["settled"] if one["id"] == id]
    finally:
        workspace.close()
    assert known, f"{id} waits"
    found: dict[str, Any] = {**known[0]}
    return found


def open_page(root: Path) -> None:
    """What the page does every few seconds, for tests that need no page."""
    workspace = discover(str(root))
    os.makedirs(workspace.home, exist_ok=True)
    page_open.note_open(workspace)
    workspace.close()
