"""A session in each real client: where the last one ended it begins, and what it leaves is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from tests.real_clients.world import Claude, Client, Codex, Copilot, Gemini, Qwen, eventually

pytestmark = pytest.mark.clients

TASK = {"linearIssue": "CIA-7", "phase": "execution", "taskIndex": 0, "totalTasks": 2}


def leave_work_behind(client: Client) -> None:
    """A session that checkpointed and ended; the next one may take it over."""
    words = ("--session", "before", "--issue", "CIA-7", "--next", "keep the quotes")
    client.holdfast("checkpoint", *words)
    end = {"session_id": "before", "cwd": str(client.project), "reason": "other"}
    client.holdfast("hook", client.name, "SessionEnd", input=json.dumps(end))


def kinds_of(stream: str) -> set[tuple[str, bool]]:
    """What the journal holds of sessions, and whether it is about that one."""
    with holdfast.open() as workspace:
        records = workspace.history(stream="session:*")
    return {(record["kind"], record["stream"] == stream) for record in records}


def test_the_pack_stands_in_the_first_request_and_a_checkpoint_is_there_afterwards(
    client: Client,
) -> None:
    leave_work_behind(client)
    client.install()
    Path(".ccc-progress.md").unlink()
    run = client.run("hello", [{"text": "I greet you."}])
    assert run.code == 0, run.told
    first = run.asked[0]
    assert first.count("Holdfast: ") == 1, "the verdict, once"
    assert "Next action: keep the quotes" in first
    # It took the ended session over, its stop was a checkpoint, and its end was written down. `qwen -p`
    # 0.24.4 runs no hook at its end.
    expected = {("adopted", True), ("captured", False)}
    expected |= {("ended", False)} if client.name != "qwen" else set()
    eventually(lambda: expected <= kinds_of("session:before"), said=expected)
    assert (("ended", False) in kinds_of("session:before")) == (client.name != "qwen")
    eventually(Path(".ccc-progress.md").exists)
    assert "keep the quotes" in Path(".ccc-progress.md").read_text(encoding="utf-8")


# `opencode run` ends when it is idle; its server does not (test_opencode).
@pytest.mark.parametrize("client", [Claude, Codex, Gemini, Qwen, Copilot], indirect=True)
def test_open_tasks_drive_it_on_once_and_then_let_it_go(client: Client) -> None:
    Path(".ccc-state.json").write_text(json.dumps({**TASK, "maxTaskIterations": 1}))
    client.install()
    run = client.run("hello")
    assert run.code == 0, run.told
    assert len(run.asked) == 2, "the prompt, and one stop that was answered"
    assert "Resume CIA-7. Current task: task 1 of 2." not in run.asked[0].split("hello")[-1]
    assert "Resume CIA-7. Current task: task 1 of 2." in run.asked[1]


def test_a_waiting_gate_lets_it_stop(client: Client) -> None:
    waiting = {**TASK, "awaitingGate": 1}
    Path(".ccc-state.json").write_text(json.dumps(waiting))
    client.install()
    run = client.run("hello")
    assert run.code == 0, run.told
    assert len(run.asked) == 1
    eventually(lambda: ("captured", False) in kinds_of("session:before"))


def test_a_secret_in_the_prompt_is_in_none_of_our_files(client: Client) -> None:
    secret = "sk-ant-api03-" + "Zq9" * 24
    client.install()
    careless = client.shell(f"holdfast checkpoint --next 'the walnut key is {secret}'")
    run = client.run(f"the key is {secret}", [careless, {"text": f"Yes: {secret}"}])
    assert run.code == 0, run.told
    assert secret in run.asked[0], "the model was told"
    kept = [path.read_bytes() for path in client.project.rglob("*") if path.is_file()]
    assert any(b"walnut" in content for content in kept), "what is kept can be found like this"
    assert not any(secret.encode() in content for content in kept)
