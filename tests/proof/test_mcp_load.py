"""Ten clients with a server each, in one workspace at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.budgets.check import Budget
from holdfast.kernel.workspace import discover
from tests.mcp.world import Process, tool_call

pytestmark = pytest.mark.proof
CLIENTS = 10


def test_ten_clients_at_once_keep_their_sessions_apart(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(number: int) -> tuple[str, str]:
        process = Process(repository, CLAUDE_CODE_SESSION_ID=f"session-{number}")
        mine = f"Task of client {number}"
        process.send(tool_call(1, "checkpoint", issue="ENG-12", task=mine, next=f"finish {mine}"))
        assert "Checkpoint complete" in process.text(1)
        process.send(tool_call(2, "guard", add_cost=1))
        assert process.text(2).startswith("go")
        process.send(tool_call(3, "resume"))
        told = process.text(3)
        assert process.end()[0] == 0
        return mine, told

    with ThreadPoolExecutor(CLIENTS) as pool:
        for task, told in pool.map(work, range(CLIENTS)):
            assert task in told
            assert told.count("Task of client") == told.count(task)
    workspace = discover(str(repository))
    assert len(workspace.journal.heads("session:")) == CLIENTS
    assert Budget(workspace, actor="tester").state()["added"]["cost"] == CLIENTS * 1_000_000
    workspace.close()
