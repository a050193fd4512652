"""What the tests of the clients' hooks share: payloads as the clients send them, and what each reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.table import NAMES
from holdfast.hooks.run import command
from holdfast.processes import relaunch
from holdfast.testing.clients.events import (
    END,
    PROMPT,
    START,
    STOP,
    TOOL,
    USED,
    ask,
    context,
    denied,
    driven,
    given,
    list_payloads,
    read_payload,
    refuse_unreadable,
)
from tests import warm
from tests.hooks import entry_alone
from tests.hooks.in_process import respond_to_bytes

__all__ = [
    "END",
    "PROMPT",
    "START",
    "STOP",
    "TOOL",
    "USED",
    "ask",
    "context",
    "denied",
    "driven",
    "given",
    "refuse_unreadable",
]
SAMPLES = Path(__file__).parent / "samples"
PATIENCE = 60.0  # seconds; a loaded machine is slow, not wrong

CLIENTS = NAMES


def samples() -> list[tuple[str, str, str]]:
    """Each payload: the client, its event, and the file's name."""
    return list_payloads(SAMPLES)


def payload_of(stem: str, **changes: object) -> dict[str, Any]:
    return read_payload(SAMPLES / f"{stem}.json", **changes)


def send(
    client: str,
    event: str,
    payload: bytes | dict[str, Any],
    *,
    cold: bool = False,
    leaves: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """The same in a process of its own; `cold`: in the interpreter that the client starts. `leaves`: with
    the processes that the hook leaves behind, which a cold one always does."""
    content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    words = command(client, event)
    if not leaves and not cold:
        words = [sys.executable, entry_alone.__file__, client, event]
    start = subprocess.run if cold else warm.run
    return start(words, input=content, capture_output=True, timeout=PATIENCE)


def given_on_stdin(client: str, event: str, payload: bytes | dict[str, Any]) -> dict[str, Any]:
    """What a hook prints, from the bytes that a client writes, in this process. A session's end forks:
    it gets a process of its own."""
    if event == END[client]:
        return said(client, event, send(client, event, payload))
    content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    answer = respond_to_bytes(client, event, content)
    refuse_unreadable(client, event, answer)
    return answer


def said(client: str, event: str, done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout or b"{}")
    refuse_unreadable(client, event, answer)
    return dict(answer)


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The words of the processes that hooks would leave behind; none is started."""
    found: list[list[str]] = []

    def leave(words: list[str]) -> bool:
        found.append(words)
        return True

    monkeypatch.setattr(relaunch, "leave", leave)
    return found
