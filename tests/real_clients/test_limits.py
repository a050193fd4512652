"""What holds an agent in each real client: an alert, an emergency stop, a question for a person."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gates.person import Terminal
from tests.real_clients.world import Client, Run, eventually

pytestmark = pytest.mark.clients

MARK = Path("the-tool-ran")
QUESTION = re.compile(rb"or 'stop' to halt\. $")


def run_a_tool(client: Client) -> Run:
    run = client.run("do it", [client.shell(f"touch {MARK}"), {"text": "I tried."}])
    assert run.code == 0, run.told
    return run


def acknowledge(type: str) -> None:
    """A person, in a terminal of their own."""
    terminal = Terminal("guard", "ack", type)
    terminal.type_back()
    terminal.read_until(QUESTION)
    terminal.type(b"ack\n")
    seen = terminal.leave()
    assert seen.code == 0, seen.screen


def test_an_alert_denies_a_tool_and_an_acknowledgment_frees_it(client: Client) -> None:
    client.install()
    client.holdfast("guard", "check", "--errors", "3", ends_with=8)
    denied = run_a_tool(client)
    assert not MARK.exists()
    assert "holdfast guard ack errors" in denied.asked[1], "the agent is told who can do what"
    acknowledge("errors")
    run_a_tool(client)
    assert MARK.exists()


def test_an_emergency_stop_freezes_it(client: Client) -> None:
    client.install()
    client.holdfast("estop", "--reason", "the disk is on fire")
    run_a_tool(client)
    assert not MARK.exists()


def test_a_limit_stops_a_turn_at_most_one_call_late(client: Client) -> None:
    limits = Path(".autopilot/config.yaml")
    limits.parent.mkdir()
    limits.write_text("thresholds:\n  stop: {tokens: 18k}\n")
    client.install()
    # Copilot writes down what an answer cost a moment later.
    lines = [f"touch mark{number}; sleep 0.5" for number in range(9)]
    calls = [{**client.shell(line), "tokens": 4_000} for line in lines]
    run = client.run("do it", calls)
    assert run.code == 0, run.told
    # The fifth answer of the model goes over it.
    assert 4 <= len(list(Path().glob("mark*"))) <= 5, client.holdfast("guard", "check", ends_with=7)
    assert "Stopped by guard: Tokens at " in client.holdfast("status")


def test_what_the_model_cost_sets_the_alert(claude: Client) -> None:
    limits = Path(".autopilot/config.yaml")
    limits.parent.mkdir()
    limits.write_text("thresholds:\n  warning: {cost: $0.50}\n  alert: {cost: $1}\n")
    claude.install()
    # A quarter of its context, and more than a dollar.
    run = claude.run("think hard", [{"text": "I thought.", "tokens": 250_000}])
    assert run.code == 0, run.told
    wait_for_the_check()
    assert "No hook failed" in claude.holdfast("doctor"), "the check after a turn needs no payload"
    again = claude.start(
        ["--continue", *claude.words("do it")], [claude.shell(f"touch {MARK}"), {"text": "No."}]
    )
    assert again.code == 0, again.told
    assert not MARK.exists()
    assert "holdfast guard ack cost" in again.asked[1]


def wait_for_the_check() -> None:
    """After a turn the budget is checked by a process that nobody waits for."""
    checked = Path(".autopilot/state/thresholds.json")
    eventually(checked.exists, said="no check came")


def test_an_agent_cannot_answer_its_own_gate(client: Client) -> None:
    client.install()
    asked = ("--built", "Dashboard", "--how", "It looks right", "--name", "dashboard")
    client.holdfast("gate", "verify", *asked)
    line = "holdfast gate answer dashboard approved"
    run = client.run("go on", [client.shell(line), {"text": "I tried."}])
    assert run.code == 0, run.told
    assert "Only a person may run `holdfast gate answer`" in run.asked[1]
    assert "dashboard" in client.holdfast("gate", "list"), "it still waits"
