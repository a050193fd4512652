"""Sessions at work: what says that they run, and that none of them is offered to be continued."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.hooks.run import command
from tests.clients.conformance.cases import CASES, REQUEST, put_session
from tests.conftest import Git
from tests.session import world
from tests.session.world import Holdfast

# A client: it starts the hook of a session, and runs until its input is closed.
CLIENT = """
import subprocess, sys
payload = sys.stdin.readline().encode()
done = subprocess.run(sys.argv[1:], input=payload, capture_output=True)
print(done.returncode, flush=True)
sys.stdin.read()
"""
CODEX, GEMINI = CASES["codex"].session, CASES["gemini"].session


home = world.home


class Clients:
    """Programs that begin their recorded session in a folder, and stay until they are ended."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.running: list[subprocess.Popen[str]] = []

    def start(self, client: str, folder: Path | None = None) -> None:
        folder = folder or self.folder
        payload = {
            "session_id": CASES[client].session,
            "transcript_path": str(put_session(client, self.home, folder)),
            "cwd": str(folder),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, *command(client, "SessionStart")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        self.running.append(process)
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{json.dumps(payload)}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "0\n"

    def end(self) -> None:
        while self.running:
            self.running.pop().communicate()


@pytest.fixture
def clients(repository: Path, home: Path) -> Iterator[Clients]:
    made = Clients(home, repository)
    yield made
    made.end()


def test_two_agents_at_work_are_seen_everywhere(
    repository: Path, holdfast: Holdfast, clients: Clients
) -> None:
    clients.start("codex")
    clients.start("gemini")
    said = holdfast("status").out
    assert "All quiet." not in said
    section = said[said.index("At work\n") :].splitlines()
    rows = sorted(section[1:3])
    assert rows[0].split()[:2] == [CODEX[:8], "Codex"]
    assert rows[1].split()[:3] == [GEMINI[:8], "Gemini", "CLI"]
    assert all("began " in row and REQUEST[:20] in row for row in rows)
    data = holdfast("status", "--json").data["at_work"]
    assert {one["session"]: one["client"] for one in data} == {CODEX: "codex", GEMINI: "gemini"}
    assert all(one["worktree"] == str(repository) and one["since"] for one in data)

    listed = holdfast("resume", "--list")
    assert listed.out.count(", at work\n") == 2
    envelope = holdfast("resume", "--list", "--json").envelope
    assert [(one["at_work"], one["alive"]) for one in envelope["data"]["sessions"]] == [
        (True, "alive"),
        (True, "alive"),
    ]
    assert envelope["next"] == []
    alone = holdfast().out
    assert alone.count("  at work  ") == 2
    assert "To see what is at work here, type:\n  holdfast status\n" in alone

    refused = holdfast("resume")
    assert refused.code == 3
    assert "Every session here is at work: " in refused.err
    assert f"Codex {CODEX[:8]}" in refused.err
    one = holdfast("resume", "--session", CODEX[:8])
    assert one.code == 0
    assert f"warning: Session {CODEX[:8]} of Codex is at work at this moment." in one.err
    assert "That session is at work at this moment. Do not continue its work beside it" in one.out
    assert holdfast("resume", "--session", CODEX[:8], "--json").data["at_work"] is True


def test_the_one_that_stands_still_is_offered(
    repository: Path, home: Path, holdfast: Holdfast, clients: Clients
) -> None:
    put_session("codex", home, repository)
    clients.start("gemini")
    envelope = holdfast("resume", "--json").envelope
    assert envelope["data"]["session"] == CODEX
    assert envelope["data"]["at_work"] is False
    assert holdfast("resume", "--list", "--json").envelope["next"] == [
        f"holdfast resume --session {CODEX[:8]}"
    ]
    assert holdfast("--json").data["next"] == "holdfast resume"
    clients.end()
    assert holdfast("status", "--json").data["at_work"] == []
    assert holdfast("resume").code == 0
    assert "All quiet." in holdfast("status").out


def test_a_session_of_another_worktree_is_at_work_there(
    repository: Path, tmp_path: Path, holdfast: Holdfast, clients: Clients, git: Git
) -> None:
    tree = tmp_path / "tree"
    git("worktree", "add", "--quiet", str(tree))
    clients.start("codex", tree)
    assert f"in {tree}" in holdfast("status").out
    assert holdfast("status", "--json").data["at_work"][0]["worktree"] == str(tree)


# Which client is suggested


def program(folder: Path, *names: str) -> str:
    """A PATH with these programs, and git."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    found = shutil.which("git")
    assert found
    (folder / "git").symlink_to(found)
    return str(folder)


@pytest.mark.parametrize(
    ("installed", "suggested"),
    [(("codex", "claude"), "codex"), (("gemini",), "gemini"), ((), "")],
)
def test_the_suggested_client_is_one_that_is_there(
    installed: tuple[str, ...],
    suggested: str,
    repository: Path,
    home: Path,
    tmp_path: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_session("codex", home, repository)
    monkeypatch.setenv("PATH", program(tmp_path / "bin", *installed))
    wanted = [f"holdfast resume --session {CODEX[:8]} --in {suggested}"] if suggested else []
    assert holdfast("resume", "--json").envelope["next"] == wanted


def test_a_checkpoint_of_a_terminal_is_not_called_a_clients_session(
    repository: Path, home: Path, holdfast: Holdfast
) -> None:
    put_session("gemini", home, repository)
    made = holdfast("checkpoint", "--task", "Keep quotes", "--skip-git", "--json").data["session"]
    first = holdfast("resume").out.splitlines()[0]
    assert f"Checkpoint {made[:12]} of a terminal, captured " in first
    assert f"What was seen is of session {GEMINI[:12]} of Gemini CLI." in first
