"""A session's end: captured within the client's patience, and finished when that does not suffice."""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.clients.table import NAMES as CLIENTS
from holdfast.hooks import handlers
from holdfast.kernel import failures
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.workspace import discover
from holdfast.session import session_files
from tests.hooks.world import given, said, send
from tests.session import world as session_world
from tests.session.world import WORK, Holdfast, wait_for

holdfast = session_world.holdfast


def ended(holdfast: Holdfast, session: str = "s1") -> bool:
    sessions = holdfast("resume", "--list", "--json").data["sessions"]
    return any(one["session"] == session and one["ended_at"] for one in sessions)


def timed_end(client: str) -> tuple[subprocess.CompletedProcess[bytes], float]:
    """The end of a session that is called as its client; and the seconds that its hook took."""
    began = time.monotonic()
    done = send(client, "SessionEnd", given(session_id=client, reason="exit"))
    return done, time.monotonic() - began


@pytest.mark.parametrize("client", CLIENTS)
def test_the_end_is_captured_and_the_session_ended(
    repository: Path, holdfast: Holdfast, client: str
) -> None:
    holdfast("checkpoint", *WORK, "--session", "s1")
    done = send(client, "SessionEnd", given(reason="exit"))
    assert said(client, "SessionEnd", done) == {}
    wait_for(lambda: ended(holdfast))
    assert not os.path.exists(session_files.folder_of(discover(), "s1"))


def test_while_somebody_holds_the_workspace_no_client_is_kept_waiting(
    repository: Path, holdfast: Holdfast
) -> None:
    """The hooks end while the lock is still held; what they began is finished when it is free."""
    for client in CLIENTS:
        holdfast("checkpoint", *WORK, "--session", client)
    lock = WorkspaceLock(discover().home)
    with lock, ThreadPoolExecutor(len(CLIENTS)) as clients:
        for done, took in clients.map(timed_end, CLIENTS):
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
            assert took > handlers.LONGEST_END, "it did wait for as long as it may"
        assert not any(ended(holdfast, client) for client in CLIENTS)
    wait_for(lambda: all(ended(holdfast, client) for client in CLIENTS))
    assert handlers.LONGEST_END < 1.0, "Codex has one second, Claude Code one and a half"
    assert failures.read(discover()) == []


def test_twice_ends_it_once(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *WORK, "--session", "s1")
    for _ in range(2):
        send("claude", "SessionEnd", given(reason="exit"))
    wait_for(lambda: ended(holdfast))
    kinds = [one["kind"] for one in holdfast("history", "--json").data["records"]]
    assert kinds.count("ended") >= 1
    assert given()["session_id"] == "s1"


def test_what_fails_in_the_process_beside_is_written_down(
    repository: Path, holdfast: Holdfast
) -> None:
    Path("holdfast.toml").write_text("[sesion]\nx = 1\n")
    assert send("claude", "SessionEnd", given(reason="exit")).returncode == 0
    wait_for(lambda: failures.read(discover()))
    # The look at the turn, in a process of its own, fails for the same reason, sooner or later.
    failure, *later = failures.read(discover())
    assert {failure["hook"], *(one["hook"] for one in later)} <= {
        "claude SessionEnd",
        "claude AfterTurn",
    }
    assert "sesion" in failure["reason"]
    wait_for(lambda: "claude SessionEnd" in {one["hook"] for one in failures.read(discover())})
