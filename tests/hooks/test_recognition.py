"""Clients that run the hooks in Claude Code's settings: each is taken for what it is, and counts once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients import installation
from holdfast.clients.events import caller_of
from holdfast.hooks.run import respond_to
from holdfast.kernel import failures, latch
from holdfast.kernel.workspace import discover
from holdfast.session import sessions
from tests.hooks import world
from tests.hooks.world import denied, payload_of
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast
DOCUMENTED = Path(__file__).parent / "documented"
SAMPLES = [one for one in world.samples() if one[0] in ("claude", "copilot")]


def cursors(event: str) -> dict[str, Any]:
    """A payload after Cursor's documentation: no recorded one."""
    value = json.loads((DOCUMENTED / f"cursor.{event}.json").read_text("utf-8"))
    return {**value, "workspace_roots": [str(Path.cwd())]}


@pytest.mark.parametrize(("client", "event", "stem"), SAMPLES, ids=[stem for *_, stem in SAMPLES])
def test_payload_and_environment_say_who_calls(
    repository: Path, client: str, event: str, stem: str
) -> None:
    nested = {"COPILOT_PROJECT_DIR": "/p", "CLAUDE_CODE_SESSION_ID": "s"}
    payload = payload_of(stem)
    assert caller_of("claude", payload, nested) == client, "one client in the shell of the other"
    assert caller_of("claude", payload, {}) == client
    assert caller_of("codex", payload, nested) == "codex", "no other settings are shared"


def test_without_a_payload_the_environment_decides() -> None:
    assert caller_of("claude", {}, {"COPILOT_PROJECT_DIR": "/p"}) == "copilot"
    assert caller_of("claude", {}, {"CLAUDE_CODE_SESSION_ID": "s"}) == "claude"


def test_copilot_under_claudes_settings_is_copilot(repository: Path, holdfast: Holdfast) -> None:
    stop = payload_of("copilot.Stop", session_id="s1")
    assert respond_to("claude", "Stop", stop, may_leave=False) == {}
    with_actor = [record for record in history() if record["kind"] == "captured"]
    assert {record["actor"] for record in with_actor} == {"copilot"}
    assert failures.read(discover()) == []


def history() -> list[dict[str, Any]]:
    import holdfast as library

    with library.open() as workspace:
        return [dict(record) for record in workspace.history(stream="session:*")]


def test_a_session_that_two_settings_name_is_counted_once(
    repository: Path, holdfast: Holdfast
) -> None:
    installation.install(discover(), ["claude", "copilot"], [])
    holdfast("checkpoint", *session_world.WORK, "--session", "before")
    respond_to("copilot", "SessionEnd", world.given(session_id="before"), may_leave=False)
    told = []
    for named in ("claude", "copilot"):
        start = payload_of("copilot.SessionStart.new", session_id="s1")
        answer = respond_to(named, "SessionStart", start, may_leave=False)
        told.append(world.context("copilot", answer))
        stop = payload_of("copilot.Stop", session_id="s1")
        respond_to(named, "Stop", stop, may_leave=False)
    assert told[0] == "", "its own settings tell"
    assert "finish parse_date" in told[1]
    assert sessions.read_or_new(discover(), "s1")["captures"] == 1


def test_a_stop_holds_in_cursor_too(repository: Path) -> None:
    assert respond_to("claude", "SessionStart", cursors("SessionStart"), may_leave=False) != {}
    latch.engage(discover(), "Everybody out", by="tester", now=0)
    answer = respond_to("claude", "PreToolUse", cursors("PreToolUse"), may_leave=False)
    assert "Everybody out" in denied("cursor", answer)
    respond_to("claude", "Stop", cursors("Stop"), may_leave=False)
    assert {record["actor"] for record in history() if record["kind"] == "captured"} == {"cursor"}
