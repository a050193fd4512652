"""A repository's own file names a server: nothing connects there without a person's word."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.kernel import trust
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.gates.person import Terminal


class Stranger:
    """Somebody's server, which counts who calls."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.calls = 0
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def url(self) -> str:
        return f"postgresql://ada@127.0.0.1:{self._listener.getsockname()[1]}/agents"

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self.calls += 1
            caller.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stranger]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    server = Stranger()
    yield server
    server.close()


def name(url: str) -> None:
    Path("holdfast.toml").write_text(f'[journal]\nurl = "{url}"\n')


def test_nothing_connects_before_somebody_said_so(
    repository: Path, stranger: Stranger, holdfast: Holdfast
) -> None:
    name(stranger.url)
    for words in (
        ["note", "my plan"],
        ["status"],
        ["checkpoint", "--skip-git"],
        ["history"],
        ["verify"],
        ["agent", "list"],
        ["agent", "start", "Secondary-A", "--feature", "f"],
        ["gc"],
        ["gate", "list"],
        ["snapshot", "create"],
        ["journal", "move", "--to", "local"],
    ):
        answer = holdfast(*words, "--json")
        assert answer.code == 4, words
        assert answer.envelope["error"]["kind"] == "untrusted_url"
        assert "holdfast trust" in answer.envelope["error"]["hint"]
    examined = holdfast("doctor")
    assert (examined.code, "have not trusted" in examined.out) == (1, True)
    assert holdfast("estop", "--reason", "halt").code == 0, "a stop needs nobody's trust"
    assert stranger.calls == 0


def test_a_hook_stays_local_in_a_strangers_repository(repository: Path, stranger: Stranger) -> None:
    from holdfast.hooks.run import command

    name(stranger.url)
    done = subprocess.run(command("note"), input=b'{"text": "here"}', capture_output=True)
    assert (done.returncode, b"failed" in done.stdout) == (0, False), done
    payload = {"session_id": "s-1", "cwd": str(repository), "source": "startup"}
    started = subprocess.run(
        command("claude", "SessionStart"), input=json.dumps(payload).encode(), capture_output=True
    )
    assert started.returncode == 0
    forwarded = subprocess.run(
        [sys.executable, "-m", "holdfast", "journal", "forward"], capture_output=True
    )
    assert forwarded.returncode == 4, forwarded
    assert stranger.calls == 0


def test_a_person_says_so_once_and_takes_it_back(
    repository: Path, stranger: Stranger, holdfast: Holdfast
) -> None:
    name(stranger.url)
    terminal = Terminal("trust")
    terminal.type_back()
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert stranger.url in seen.screen, "they saw which"
    assert stranger.calls == 0
    assert holdfast("history").code == 75, "now it is tried"
    assert stranger.calls > 0
    assert holdfast("trust", "--json").data["trusted"] is True, "and not asked again"
    assert holdfast("trust", "--forget").code == 0
    assert holdfast("note", "my plan").code == 4


def test_no_agent_and_no_script_says_so(
    repository: Path, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    name(stranger.url)
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "trust"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert done.returncode == 4, done
    seen = Terminal("trust", environment={"CLAUDECODE": "1"}).leave()
    assert seen.code == 4, seen.screen
    assert not trust.is_trusted(discover(), stranger.url)


def test_a_word_counts_for_this_clone_and_this_very_url(
    repository: Path, stranger: Stranger, git: Git, tmp_path: Path, holdfast: Holdfast
) -> None:
    trust.trust(discover(), stranger.url, "2026-01-15T15:00:00Z")
    name(f"{stranger.url}?host=db.stranger.example")
    assert holdfast("note", "x").code == 4, "an option may name another host"
    name(stranger.url)
    git("worktree", "add", "--quiet", str(tmp_path / "linked"), at=repository)
    assert trust.is_trusted(discover(str(tmp_path / "linked")), stranger.url)
    git("clone", "--quiet", str(repository), str(tmp_path / "clone"))
    assert not trust.is_trusted(discover(str(tmp_path / "clone")), stranger.url)


def test_the_users_own_environment_needs_no_trust(
    repository: Path, stranger: Stranger, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    name("postgresql://elsewhere.example/agents")
    monkeypatch.setenv("HOLDFAST_URL", stranger.url)
    assert holdfast("history").code == 75
    monkeypatch.setenv("HOLDFAST_URL", "")
    assert holdfast("note", "kept here").code == 0, "set to nothing, it is the file"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"trusted": [1, {"url": 2}]}', "\0", "[" * 5000])
def test_a_file_of_words_that_is_broken_trusts_nobody(
    repository: Path, stranger: Stranger, text: str
) -> None:
    folder = Path(os.environ["XDG_STATE_HOME"]) / "holdfast"
    folder.mkdir(parents=True)
    (folder / trust.FILE).write_text(text)
    assert not trust.is_trusted(discover(), stranger.url)
    trust.trust(discover(), stranger.url, "2026-01-15T15:00:00Z")
    assert trust.is_trusted(discover(), stranger.url)
    assert (folder / trust.FILE).stat().st_mode & 0o022 == 0


def test_there_is_nothing_to_trust(repository: Path, holdfast: Holdfast) -> None:
    assert holdfast("trust").code == 3
