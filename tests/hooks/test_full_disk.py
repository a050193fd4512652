"""On a full disk: a stop can be set, and what a hook could not keep is said."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.clients.table import NAMES as CLIENTS
from holdfast.kernel import failures, latch
from holdfast.kernel.workspace import discover
from tests.gates.person import does
from tests.hooks.test_limits import bash
from tests.hooks.world import STOP, TOOL, ask, context, denied, given, said, send
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast


@pytest.fixture
def full(repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The repository on a small disk of its own, with no room left on it."""
    disk = repository.parent / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"A FULL DISK WAS NOT TRIED, no right to mount one: {done.stderr.strip()}")
    try:
        root = disk / "repository"
        subprocess.run(["cp", "-r", str(repository), str(root)], check=True)
        monkeypatch.chdir(root)
        assert holdfast("checkpoint", "--next", "go on", "--session", "s0").code == 0
        with (disk / "filler").open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        yield root
    finally:
        monkeypatch.chdir(repository)
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_everybody_can_be_stopped(full: Path, holdfast: Holdfast) -> None:
    done = holdfast("estop", "--reason", "Everybody out")
    assert done.code == 0, done.err
    assert "its record could not be written" in done.err
    for client in CLIENTS:
        assert latch.WITHOUT_REASON in denied(client, ask(client, TOOL[client], **bash("make")))
    os.unlink(full.parent / "filler")
    assert does("release").code == 0
    assert ask("claude", "PreToolUse", **bash("make")) == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_could_not_be_kept_is_said(full: Path, holdfast: Holdfast, client: str) -> None:
    answer = said(client, STOP[client], send(client, STOP[client], given()))
    told = context(client, answer) if client == "opencode" else answer["systemMessage"]
    assert "failed, and could not write that down" in told
    assert failures.WITHOUT_REASON in [one["reason"] for one in failures.read(discover())]
    assert "failed" in holdfast("status").out


def test_a_sessions_end_says_it_too(full: Path) -> None:
    answer = said("claude", "SessionEnd", send("claude", "SessionEnd", given(reason="exit")))
    assert "could not be kept" in answer["systemMessage"]


def test_what_was_lost_is_forgotten_with_the_rest(full: Path) -> None:
    assert failures.note(discover(), "x", "y", 0) is False
    assert failures.forget(discover()) == 1
    assert failures.read(discover()) == []
