"""Where else a gate is seen: the status, the resume pack, the library."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as library
from holdfast.kernel.errors import Declined, HoldfastError, Waiting
from tests.cli.conftest import Holdfast
from tests.gates.samples import NO_TO_ALL
from tests.gates.test_gates import answer

LOOK = ("gate", "verify", "--built", "Dashboard", "--how", "Cards show data", "--url", "http://a")


def test_the_status_names_what_waits(repository: Path, holdfast: Holdfast) -> None:
    holdfast(*LOOK, "--name", "dash")
    holdfast("gate", "verify", "--built", "Later", "--how", "Look", "--batch", "--name", "late")
    (item,) = holdfast("status", "--json").data["attention"]
    assert item == {
        "what": "1 gate waits for a person; longest: Dashboard",
        "next": "holdfast gate list",
    }
    answer("dash", "approved")
    assert holdfast("status", "--json").data["attention"] == []


def test_a_resumed_session_knows_what_waits_and_what_was_answered(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("checkpoint", "--issue", "ENG-12", "--task", "Build the dashboard", "--skip-git")
    holdfast(*LOOK, "--name", "dash", "--holds", "plan 06")
    pack = holdfast("resume", "--json").data["pack"]
    assert "Before you go on, run `holdfast gate wait dash --timeout 0`." in pack
    assert "## Gates that wait for a person\n- dash (human-verify): Dashboard; since " in pack
    assert "; holds up plan 06" in pack
    assert holdfast("resume", "--json").data["pack"] == pack
    answer("dash", "The cards\n```\nare empty")
    told = holdfast("resume", "--json").data["pack"]
    assert "## Gates that were answered, latest first\n- dash: no: The cards" in told
    assert "gate wait" not in told


def test_gates_alone_are_worth_a_pack(repository: Path, holdfast: Holdfast) -> None:
    holdfast(*LOOK, "--name", "dash")
    pack = holdfast("resume", "--json").data["pack"]
    assert pack.startswith(
        "Holdfast: No session was captured here; what else is on record follows."
    )


def test_a_program_asks_waits_and_goes_on(repository: Path) -> None:
    with library.open(actor="builder") as workspace:
        looked = workspace.gates.verify(
            built="Dashboard at http://localhost:3000", how=["Cards show data"], name="dash"
        )
        assert "**Server running:** http://localhost:3000" in looked.text
        with pytest.raises(Waiting):
            looked.wait(0)
        answer("dash", "approved")
        assert looked.wait()["verdict"] == "yes"

        chosen = workspace.gates.decide(
            "Select a store",
            context="Where the data goes.",
            options=[
                {"id": "pg", "name": "PostgreSQL", "pros": "Teams run it", "cons": "A server"},
                {"id": "lite", "name": "SQLite", "pros": "One file", "cons": "One machine"},
            ],
        )
        assert [gate.id for gate in workspace.gates.waiting()] == [chosen.id]
        answer(chosen.id, "lite")
        assert chosen.wait()["answer"] == "lite"

        clicked = workspace.gates.act(
            "Confirm the mail",
            why="The link is in your inbox",
            instructions=["Click the link"],
            cause="email",
            checklist=NO_TO_ALL,
            name="mail",
        )
        answer("mail", "I have no mail")
        with pytest.raises(Declined, match="I have no mail"):
            clicked.wait()


def test_the_library_holds_the_rule_too(repository: Path) -> None:
    with library.open() as workspace, pytest.raises(HoldfastError, match="asks a person"):
        workspace.gates.verify(built="Shop", how=["Run npm test"])


def test_who_asks_is_known_by_their_client(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "session-abc123")
    holdfast(*LOOK, "--name", "dash", "--agent", "Secondary-A")
    asked = holdfast("gate", "show", "dash", "--json").data["asked"]
    assert (asked["session"], asked["agent"]) == ("session-abc123", "Secondary-A")
    assert "holds up Secondary-A" in holdfast("gate", "list").out


def test_what_a_stop_costs_comes_from_the_clients_own_file(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import json

    from holdfast.clients.claude import sessions as claude

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "abc")
    path = Path(claude.folder_of(str(repository))) / "abc.jsonl"
    assert path.is_relative_to(tmp_path)
    path.parent.mkdir(parents=True)
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 80_000, "output_tokens": 500}
    message = {"id": "msg_1", "model": "claude-opus-5-5", "role": "assistant", "usage": usage}
    line = {
        "type": "assistant",
        "uuid": "line-1",
        "sessionId": "abc",
        "timestamp": "2026-11-15T18:00:00.000Z",
        "message": message,
    }
    path.write_text(json.dumps(line) + "\n")
    holdfast(*LOOK, "--name", "dash")
    holdfast(*LOOK, "--name", "late", "--batch")
    assert holdfast("gate", "show", "dash", "--json").data["cost_tokens"] == 81_500
    assert "A stop now costs 81,500 tokens" in holdfast("gate", "show", "dash").out
    assert holdfast("gate", "show", "late", "--json").data["cost_tokens"] is None
