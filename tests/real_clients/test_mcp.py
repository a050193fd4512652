"""Our MCP server in the real clients, and in the inspector that the protocol's makers ship."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from tests.real_clients.world import Client, Inspector

pytestmark = pytest.mark.clients


def test_a_tool_of_our_server_is_called(client: Client) -> None:
    client.install()
    order = client.mcp("checkpoint", next="keep the quotes", issue="CIA-7")
    run = client.run("checkpoint, please", [order, {"text": "Done."}])
    assert run.code == 0, run.told
    assert "Checkpoint complete" in run.asked[-1]
    assert "keep the quotes" in Path(".ccc-progress.md").read_text(encoding="utf-8")
    with holdfast.open() as workspace:
        streams = {record["stream"] for record in workspace.history(stream="session:*")}
    assert len(streams) == 1, "the server's checkpoint and the hooks' are of one session"


# A tool, how it is called, and what stands in its answer.
CALLS = {
    "checkpoint": (["next=keep the quotes", "issue=CIA-7"], "keep the quotes"),
    "resume": ([], "Next action: go on"),
    "beat": (["agent=Secondary-A", "step=Painting it blue"], "Secondary-A"),
    "step": (["do=show"], "PLAN"),
    "gate_open": (["kind=verify", "title=Dashboard", 'items=["It is blue"]'], "waiting"),
    "gate_status": ([], "gate"),
    "guard": ([], "go"),
    "inbox": (["agent=Secondary-A"], "message"),
    "agent": (["agent=Secondary-A", "do=block", "text=no paint"], "no paint"),
    "find": (["question=keep the quotes"], ""),
    "undo": ([], "holdfast undo N"),
    "reason": (["do=questions", "group=discover"], "ACTIVE TENSIONS"),
}


@pytest.fixture
def furnished(inspector: Inspector) -> Inspector:
    """A workspace in which there is something to do for every tool."""
    inspector.holdfast("checkpoint", "--session", "before", "--next", "go on")
    inspector.holdfast("agent", "start", "Secondary-A", "--feature", "feature_02")
    inspector.holdfast("loop", "start", "PLAN", "--track", "dark-mode")
    inspector.holdfast("rfc", "init", "auth-model")
    return inspector


def test_the_inspector_lists_every_tool(inspector: Inspector) -> None:
    listed = inspector.call("tools/list")["tools"]
    assert {tool["name"] for tool in listed} == set(CALLS)
    assert inspector.call("resources/list")["resources"]
    assert inspector.call("prompts/list")["prompts"]


def test_the_inspector_calls_every_tool(furnished: Inspector) -> None:
    for tool in ("resume", *(tool for tool in CALLS if tool != "resume")):  # before a checkpoint
        arguments, expected = CALLS[tool]
        words = [word for argument in arguments for word in ("--tool-arg", argument)]
        answer = furnished.call("tools/call", "--tool-name", tool, *words)
        assert not answer.get("isError"), answer
        assert expected in json.dumps(answer, ensure_ascii=False), tool
