"""The launcher at a turn, a compaction and an end: the client does not wait, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.clients import launcher
from holdfast.clients.table import NAMES as CLIENTS
from holdfast.hooks import deferred_events, marks
from holdfast.kernel import clock, failures
from holdfast.kernel.workspace import discover
from holdfast.session import session_files
from tests.hooks import launcher_scene
from tests.hooks.launcher_scene import SESSION_VARIABLES, Hooks, begin, captured
from tests.hooks.world import STOP, driven
from tests.session import world as session_world
from tests.session.world import STATE, Holdfast, wait_for

holdfast, hooks = session_world.holdfast, launcher_scene.hooks


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stop_with_nothing_to_answer_is_captured_behind_the_client(
    hooks: Hooks, holdfast: Holdfast, client: str
) -> None:
    begin(hooks, client)
    assert hooks(client, STOP[client]) == {}
    wait_for(lambda: captured(holdfast))
    wait_for(lambda: hooks.starts() == [f"pending {hooks.root}"])
    assert failures.read(discover()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_what_runs_behind_a_client_holds_none_of_its_pipes(
    hooks: Hooks, client: str, tmp_path: Path
) -> None:
    """dash keeps the old one beside each redirection, and a client waits until all are closed."""
    begin(hooks, client)
    slow, ended = tmp_path / "slow", tmp_path / "ended"
    slow.write_text(f"#!/bin/sh\nsleep 5\n: >{ended}\n")
    slow.chmod(0o755)
    hooks.name(python=str(slow))
    assert hooks(client, STOP[client]) == {}
    assert not ended.exists(), "the client waited"


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_a_client_can_write_all_of_a_large_payload_that_needs_no_answer(
    hooks: Hooks, holdfast: Holdfast, client: str
) -> None:
    """Codex takes a payload that it cannot write for an error of the hook."""
    begin(hooks, client)
    environment = {**os.environ}
    if client in SESSION_VARIABLES:
        environment[SESSION_VARIABLES[client]] = "s1"
    process = subprocess.Popen(
        ["/bin/bash", "-c", hooks.line(client, STOP[client])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=hooks.root,
        env=environment,
    )
    assert process.stdin is not None
    payload = {"session_id": "s1", "cwd": str(hooks.root), "last_assistant_message": "x" * 300_000}
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    with process:
        assert process.stdout is not None
        assert (process.stdout.read(), process.wait(60)) == (b"", 0)
    wait_for(lambda: captured(holdfast))


def test_a_compaction_is_captured_behind_the_client(hooks: Hooks, holdfast: Holdfast) -> None:
    begin(hooks, "claude")
    assert hooks("claude", "PreCompact", trigger="auto") == {}
    wait_for(lambda: captured(holdfast))


def test_a_client_that_may_compact_is_captured_every_ten_minutes(
    hooks: Hooks, holdfast: Holdfast
) -> None:
    begin(hooks, "gemini")
    hooks("gemini", "PreCompress", trigger="auto")
    # A command would take the event from the process that leaves the mark.
    wait_for((hooks.folder / "sessions" / "gemini.s1.captured").exists)
    assert captured(holdfast)
    hooks.log.unlink()
    hooks("gemini", "PreCompress", trigger="auto")
    assert hooks.starts() == []


@pytest.mark.parametrize("client", CLIENTS)
def test_the_next_session_finds_the_checkpoint_of_the_one_that_has_just_ended(
    hooks: Hooks, holdfast: Holdfast, client: str
) -> None:
    begin(hooks, client)
    holdfast("checkpoint", "--session", "s1", "--next", "keep the quotes")
    assert hooks(client, "SessionEnd", reason="exit") == {}
    answer = hooks(client, "SessionStart", session_id="s2", source="startup")
    assert "keep the quotes" in json.dumps(answer)
    (old,) = [
        one
        for one in holdfast("resume", "--list", "--json").data["sessions"]
        if one["session"] == "s1"
    ]
    assert old["ended_at"]


def test_what_no_process_finished_the_next_command_finishes(
    hooks: Hooks, holdfast: Holdfast, tmp_path: Path
) -> None:
    begin(hooks, "claude")
    dying = tmp_path / "dying"
    dying.write_text("#!/bin/sh\nkill -9 $$\n")
    dying.chmod(0o755)
    hooks.name(python=str(dying))
    for event in ("Stop", "SessionEnd"):
        assert hooks("claude", event, reason="other") == {}
    wait_for(lambda: len(hooks.reasons()) == 2)
    assert len(list(Path(discover().private, "pending").glob("claude.*"))) == 2
    (found,) = holdfast("resume", "--list", "--json").data["sessions"]
    assert found["ended_at"]
    assert not list(Path(discover().private, "pending").glob("claude.*"))


def test_an_event_that_kills_its_process_is_given_up(hooks: Hooks, holdfast: Holdfast) -> None:
    kept = Path(discover().prepare_private("pending"))
    (kept / "claude.Stop.s1.7~~~").write_text('{"session_id": "s1"}')
    holdfast("status")
    assert not list(kept.glob("claude.*"))
    assert "in 3 attempts" in failures.read(discover())[-1]["reason"]


def test_a_payload_that_is_being_written_is_left_to_its_own_process(
    hooks: Hooks, holdfast: Holdfast
) -> None:
    path = Path(discover().prepare_private("pending"), "claude.Stop.s1.7")
    path.write_text('{"session_id": ')
    holdfast("status")
    assert path.exists()
    old = time.time() - deferred_events.BEING_WRITTEN / 1000
    os.utime(path, (old, old))
    holdfast("status")
    assert not path.exists()
    assert captured(holdfast), "what its name says is enough"


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_with_a_loop_a_stop_is_answered_at_once(hooks: Hooks, client: str) -> None:
    begin(hooks, client)
    task = {"linearIssue": "CIA-7", "phase": "execution", "taskIndex": 0, "totalTasks": 2}
    STATE.write_text(json.dumps(task))
    assert "Resume CIA-7" in driven(client, hooks(client, STOP[client]))


def test_an_agent_that_deletes_its_loop_is_not_free_of_python(hooks: Hooks) -> None:
    task = {"linearIssue": "CIA-7", "phase": "execution", "taskIndex": 0, "totalTasks": 2}
    STATE.write_text(json.dumps(task))
    begin(hooks, "claude")
    STATE.unlink()
    hooks("claude", "Stop")
    assert hooks.starts()[0] == "claude Stop"


def test_a_question_that_is_due_is_asked_by_python(hooks: Hooks) -> None:
    begin(hooks, "claude")
    session_files.keep(discover(), "s1", "ask", {"percent": 70, "asked": 1, "stated": ""})
    (hooks.folder / "sessions" / "claude.s1").unlink()  # as the process does that found it due
    hooks("claude", "UserPromptSubmit", prompt="go on")
    assert "The context is 70 % full" in driven("claude", hooks("claude", "Stop")).replace(
        "the context", "The context"
    )


def test_marks_of_sessions_without_an_end_are_swept_once_a_day(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(launcher.FOLDER_VARIABLE, str(hooks.folder))
    old = hooks.folder / "sessions" / "claude.gone"
    now = clock.now()

    def sweep(days: int) -> bool:
        old.touch()
        os.utime(old, (1_700_000_000, 1_700_000_000))
        marks.sweep(now + days * clock.DAY)
        return not old.exists()

    assert sweep(0)
    assert not sweep(0), "it was swept on this day"
    assert sweep(1)
    stamp = hooks.folder / marks.SWEPT
    stamp.unlink()
    (stamp / "in the way").mkdir(parents=True)
    os.utime(stamp, (1_700_000_000, 1_700_000_000))
    assert not sweep(2), "a folder that cannot be written is left alone"
