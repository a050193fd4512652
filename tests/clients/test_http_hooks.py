"""Claude Code sends what may be lost to the page; what may not be lost does not need it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from scripts.clients import program_of

from holdfast.kernel.workspace import discover
from tests.clients import page
from tests.clients.dialects import Answer
from tests.clients.world import Client, Run

pytestmark = pytest.mark.clients

TOKEN = "HOLDFAST_AGENTS_TOKEN"


def install(client: Client) -> dict[str, str]:
    """With http hooks; the environment in which a person starts the client then."""
    client.holdfast("init", "--client", "claude", "--http")
    token = Path(".git/holdfast/agents-token").read_text().strip()
    return {**client.environment(), TOKEN: token}


def run_beside_the_page(client: Client, environment: dict[str, str], said: Answer) -> Run:
    script: list[Answer] = [said, {"text": "I did."}]
    words = [str(program_of("claude")), *client.words("do it")]
    return client.start(
        [],
        script,
        command=[sys.executable, page.__file__, "serve", str(client.project)],
        talk=[sys.executable, page.__file__, "after", *words],
        environment=environment,
    )


def test_a_used_tool_is_told_to_the_page_and_its_answer_is_read(claude: Client) -> None:
    environment = install(claude)
    # A stop that begins while the tool runs: only what comes after the tool can end the turn.
    stop = f"touch the-tool-ran; {sys.executable} -m holdfast estop --reason walnut"
    run = run_beside_the_page(claude, environment, claude.shell(stop))
    assert Path("the-tool-ran").exists(), run.told
    assert len(run.asked) == 1, "the page said stop, and the model was not asked again"


def test_without_the_page_that_stop_holds_from_the_next_tool_on(claude: Client) -> None:
    environment = install(claude)
    stop = f"{sys.executable} -m holdfast estop --reason walnut"
    script = [claude.shell(stop), claude.shell("touch the-tool-ran"), {"text": "I did."}]
    run = claude.run("do it", script, environment=environment)
    assert len(run.asked) == 2, "once more, which is what is lost"
    assert not Path("the-tool-ran").exists()


def test_without_the_page_the_run_is_unharmed_and_captured(claude: Client) -> None:
    environment = install(claude)
    script = [claude.shell("touch the-tool-ran"), {"text": "I did."}]
    run = claude.run("do it", script, environment=environment)
    assert run.code == 0, run.told
    assert json.loads(run.out)["is_error"] is False
    assert Path("the-tool-ran").exists()
    assert len(run.asked) == 2
    workspace = discover()
    assert workspace.journal.heads("session:"), "its stop was a checkpoint"
    workspace.close()


def test_without_the_page_a_stop_denies_the_tool(claude: Client) -> None:
    environment = install(claude)
    claude.holdfast("estop", "--reason", "walnut")
    script = [claude.shell("touch the-tool-ran"), {"text": "I did."}]
    claude.run("do it", script, environment=environment)
    assert not Path("the-tool-ran").exists()


def test_a_wrong_token_harms_nobody(claude: Client) -> None:
    environment = {**install(claude), TOKEN: "wrong"}
    run = run_beside_the_page(claude, environment, claude.shell("touch the-tool-ran"))
    assert run.code == 0, run.told
    assert Path("the-tool-ran").exists()
    assert len(run.asked) == 2


def test_the_tools_are_reached_over_http_with_the_same_token(claude: Client) -> None:
    environment = install(claude)
    entry = {
        "type": "http",
        "url": f"http://127.0.0.1:{page.PORT}/mcp",
        "headers": {"Authorization": f"Bearer ${{{TOKEN}}}"},
    }
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"holdfast": entry}}))
    claude.holdfast("gate", "verify", "--built", "Dashboard", "--how", "Cards show data")
    run = run_beside_the_page(claude, environment, claude.mcp("gate_status"))
    assert run.code == 0, run.told
    assert "Dashboard" in run.asked[-1], run.told
