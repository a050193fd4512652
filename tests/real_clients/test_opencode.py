"""opencode's server, which its interfaces use: here a stop can be answered."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.real_clients import talk
from tests.real_clients.test_session import TASK
from tests.real_clients.world import Client

pytestmark = pytest.mark.clients

PORT = "14096"


def test_open_tasks_drive_it_on_once_and_then_let_it_go(opencode: Client) -> None:
    Path(".ccc-state.json").write_text(json.dumps({**TASK, "maxTaskIterations": 1}))
    opencode.install()
    run = opencode.start(
        ["serve", "--port", PORT],
        [{"text": "Half of it."}, {"text": "The rest."}],
        talk=[sys.executable, str(Path(talk.__file__)), PORT, "hello", "2"],
    )
    assert run.code == 0, run.told
    assert json.loads(run.out) == ["Half of it.", "The rest."]
    assert len(run.asked) == 2, "the prompt, and one stop that was answered"
    assert "Resume CIA-7. Current task: task 1 of 2." in run.asked[1]
