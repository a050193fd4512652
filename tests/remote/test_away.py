"""While the server is away: what people see, what agents may go on doing, and what has to wait."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.hooks.status_line import line
from holdfast.kernel import clock, inbox
from tests.cli.conftest import Holdfast
from tests.remote.world import AGENT, STREAM, Machine, Outage


def test_status_says_what_is_away_since_when_and_what_waits(
    machine: Machine, outage: Outage, holdfast: Holdfast
) -> None:
    machine.hook("Stop", session="before")
    machine.forward()
    outage.begin()
    machine.hook("Stop")
    machine.own("note", text="offline")
    said = holdfast("status")
    assert said.code == 0, said
    assert "away: not heard for less than a minute; agents go on" in said.out
    assert "1 record of 1 life and 1 command wait here for the server" in said.out
    assert "session:before" in said.out, "what this machine knows is shown"
    data = holdfast("status", "--json").data
    assert data["server"]["reachable"] is False
    assert (data["server"]["undelivered"], data["server"]["commands"]) == (1, 1)
    assert data["server"]["heard_at"] <= clock.precise(clock.now())
    assert "postgresql://" in data["journal"]["path"]
    assert "pass" not in str(data)


def test_status_with_the_server_there(machine: Machine, holdfast: Holdfast) -> None:
    machine.hook("Stop")
    server = holdfast("status", "--json").data["server"]
    assert (server["reachable"], server["undelivered"], server["commands"]) == (True, 0, 0)


def test_without_a_server_there_is_none(repository: Path, holdfast: Holdfast) -> None:
    assert holdfast("status", "--json").data["server"] is None


def test_the_doctor_names_what_waits(machine: Machine, outage: Outage, holdfast: Holdfast) -> None:
    outage.begin()
    machine.hook("Stop")
    found = holdfast("doctor", "--json")
    assert found.code == 1
    [spool] = [check for check in found.data["checks"] if check["id"] == "spool"]
    assert spool["status"] == "warning"
    assert "1 record of 1 life waits here" in spool["what"]


def test_the_status_line_tells_when_the_server_was_not_heard(
    machine: Machine, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    payload = {"session_id": "s1", "cwd": str(machine.root)}
    machine.hook("Stop")
    (machine.home / "forward").write_text("1")
    machine.forward()
    assert "server" not in line(payload)
    machine.hook("SessionEnd", reason="exit")
    later = clock.now() + 3 * clock.MINUTE
    monkeypatch.setattr(clock, "now", lambda: later)
    assert "server not heard for 3 min, 2 wait (holdfast status)" in line(payload)


def test_a_heartbeat_is_kept_here_and_said_so(
    machine: Machine, outage: Outage, holdfast: Holdfast
) -> None:
    assert holdfast("agent", "start", AGENT, "--feature", "feature_01_one").code == 0
    outage.begin()
    said = holdfast("agent", "beat", AGENT, "--step", "on the train")
    assert said.code == 0, said
    assert "Kept here, not yet on the server" in said.err
    assert "on the train" in Path("agent_checkpoints/secondary_a.json").read_text()
    outage.end()
    machine.forward()
    assert machine.on_server(STREAM)[-1]["body"]["set"]["current_step"] == "on the train"


def test_a_checkpoint_is_kept_here(machine: Machine, outage: Outage, holdfast: Holdfast) -> None:
    outage.begin()
    said = holdfast("checkpoint", "--session", "s1", "--task", "on the train", "--skip-git")
    assert said.code == 0
    assert "Kept here, not yet on the server" in said.err
    assert "on the train" in Path(".ccc-progress.md").read_text()
    outage.end()
    assert [one["kind"] for one in holdfast("history", "--json").data["records"]] == ["captured"]


def test_a_note_waits_in_the_inbox(machine: Machine, outage: Outage, holdfast: Holdfast) -> None:
    outage.begin()
    said = holdfast("note", "from the train")
    assert said.code == 0
    assert "Kept here, not yet on the server" in said.err
    assert len(inbox.list_waiting(str(machine.root))) == 1
    assert holdfast("note").code == 75, "to look at it needs the server"
    outage.end()
    holdfast("note", "back")
    assert "from the train" in Path(".notes/default.md").read_text()


def test_what_must_be_agreed_upon_says_that_it_cannot_be(
    machine: Machine, outage: Outage, holdfast: Holdfast
) -> None:
    holdfast("agent", "start", AGENT, "--feature", "feature_01_one")
    outage.begin()
    for words in (
        ("agent", "start", "Secondary-B", "--feature", "feature_02_two"),
        ("agent", "takeover", AGENT, "--by", "Secondary-B"),
        ("agent", "complete", AGENT),
        ("gate", "verify", "--built", "A page", "--how", "Look"),
        ("history",),
    ):
        refused = holdfast(*words, "--json")
        assert refused.code == 75, words
        assert refused.envelope["error"]["retryable"]
        assert "pass" not in refused.envelope["error"]["message"]


def test_a_person_who_acknowledges_is_not_put_off(
    machine: Machine, outage: Outage, holdfast: Holdfast
) -> None:
    from holdfast.kernel.errors import StoreAway

    machine.check("s1", cost=30.0)
    machine.forward()
    outage.begin()
    with pytest.raises(StoreAway):
        machine.acknowledge("cost")
    assert inbox.list_waiting(str(machine.root)) == []


def test_a_spool_that_cannot_be_written_keeps_nobody_from_the_server(
    machine: Machine, holdfast: Holdfast
) -> None:
    machine.hook("Stop")
    for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
        (machine.home / name).write_bytes(b"no database at all" * 100)
    assert holdfast("note", "all the same").code == 0


def test_a_home_that_cannot_be_written_keeps_nobody_from_the_server(
    machine: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a sandbox; the rights of a test that is run as root would not stop it."""
    make = os.makedirs

    def refused(path: str, *rest: object, **options: object) -> None:
        if str(path) == str(machine.home):
            raise PermissionError(13, "Permission denied", path)
        make(path, *rest, **options)  # type: ignore[arg-type]

    machine.home.mkdir(parents=True, exist_ok=True)
    (machine.home / "lock").touch()
    monkeypatch.setattr(os, "makedirs", refused)
    done = holdfast("checkpoint", "--session", "s1", "--task", "x", "--skip-git", "--skip-tracker")
    assert done.code == 0
    assert len(machine.on_server("session:s1")) == 1


def test_a_hook_goes_on_for_an_hour(machine: Machine, outage: Outage) -> None:
    outage.begin()
    for number in range(60):
        machine.hook("Stop", session=f"s{number % 3}")
        machine.hook("UserPromptSubmit", session=f"s{number % 3}", prompt=f"go on with {number}")
    assert not any(name.endswith(".jsonl") for name in os.listdir(machine.home))
    outage.end()
    machine.forward()
    assert machine.waiting()["records"] == 0


def test_an_agents_tools_go_on_as_well(machine: Machine, outage: Outage) -> None:
    from holdfast.gates.mcp import gate_open
    from holdfast.mcp.call import ToolCall, run_tool
    from holdfast.session.mcp import checkpoint

    outage.begin()
    saved = run_tool(
        ToolCall(str(machine.root)), checkpoint, {"task": "on the train", "session": "s1"}
    )
    assert not saved.is_error
    assert "Kept here, not yet on the server" in str(saved.content)
    asked = run_tool(
        ToolCall(str(machine.root)),
        gate_open,
        {"kind": "verify", "title": "A page", "items": ["Look"]},
    )
    assert asked.is_error
    outage.end()
    machine.forward()
    assert machine.session_here()["progress"]["current"] == "on the train"
