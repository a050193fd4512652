"""`init --shared`: one person writes the hooks into settings that the team commits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.settings.shared import HINT, PORTABLE, SAID
from holdfast.clients.table import CLIENTS, NAMES
from tests.cli.conftest import Holdfast

SHARING = [name for name in NAMES if CLIENTS[name].shared]


def hook_line(root: Path, client: str, event: str) -> str:
    settings = json.loads((root / CLIENTS[client].shared).read_text())
    line: str = settings["hooks"][event][0]["hooks"][0]["command"]
    return line


def run_hook(
    line: str, clone: Path, home: Path, **payload: Any
) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    if "claude" in line:
        environment["CLAUDE_PROJECT_DIR"] = str(clone)
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=clone,
        env=environment,
        input=json.dumps({"session_id": "s1", "cwd": str(clone), **payload}),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def clone(repository: Path, tmp_path: Path, holdfast: Holdfast) -> Path:
    """A colleague's clone of a repository in which one person ran `init --shared`."""
    words = [word for name in SHARING for word in ("--client", name)]
    assert holdfast("init", "--shared", *words).code == 0
    git = ["git", "-c", "user.name=one", "-c", "user.email=one@example.com", "-C", str(repository)]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "Hooks for all of us"], check=True)
    subprocess.run(["git", "clone", "-q", str(repository), str(tmp_path / "clone")], check=True)
    return tmp_path / "clone"


@pytest.mark.parametrize("client", SHARING)
def test_the_settings_are_committed_and_name_no_path_of_a_machine(
    repository: Path, clone: Path, client: str
) -> None:
    text = (clone / CLIENTS[client].shared).read_text()
    assert PORTABLE in text
    for place in (str(repository), str(Path.home()), "holdfast/hooks/entry.py"):
        assert place not in text
    assert not (clone / ".mcp.json").exists()


@pytest.mark.parametrize("client", SHARING)
def test_where_holdfast_is_not_installed_the_hooks_do_nothing_and_say_once_how_to_get_it(
    clone: Path, tmp_path: Path, client: str
) -> None:
    home = tmp_path / "colleague"
    home.mkdir()
    (clone / SAID).unlink(missing_ok=True)
    lines = json.loads((clone / CLIENTS[client].shared).read_text())["hooks"]
    said = []
    for _ in range(2):
        for event in lines:
            done = run_hook(hook_line(clone, client, event), clone, home)
            assert (done.returncode, done.stderr) == (0, ""), event
            said.append(done.stdout.strip())
    expected = [] if client == "gemini" else [HINT]
    assert [one for one in said if one] == expected
    assert list(home.iterdir()) == []
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


def test_where_holdfast_is_installed_they_work(clone: Path) -> None:
    """The launcher is in this home: `init` in the first clone put it there."""
    line = hook_line(clone, "claude", "SessionStart")
    done = run_hook(line, clone, Path.home(), hook_event_name="SessionStart", source="startup")
    assert (done.returncode, done.stderr) == (0, "")
    assert (clone / ".git" / "holdfast").is_dir()
    assert HINT not in done.stdout


def test_a_person_adds_what_is_theirs_and_no_hook_runs_twice(
    clone: Path, monkeypatch: pytest.MonkeyPatch, holdfast: Holdfast
) -> None:
    monkeypatch.chdir(clone)
    before = {name: (clone / CLIENTS[name].shared).read_bytes() for name in ("claude", "codex")}
    words = [word for name in before for word in ("--client", name)]
    assert holdfast("init", *words).code == 0
    for name, content in before.items():
        assert (clone / CLIENTS[name].shared).read_bytes() == content
    own = json.loads((clone / ".claude/settings.local.json").read_text())
    assert "statusLine" in own
    assert "hooks" not in own
    assert "starts another holdfast" not in holdfast("doctor").out


def test_uninstall_takes_them_out_again(repository: Path, holdfast: Holdfast) -> None:
    (repository / ".claude").mkdir()
    settings = repository / ".claude/settings.json"
    settings.write_text('{\n  "model": "a"\n}\n')
    assert holdfast("init", "--shared", "--client", "claude").code == 0
    assert PORTABLE in settings.read_text()
    assert holdfast("uninstall").code == 0
    assert settings.read_text() == '{\n  "model": "a"\n}\n'


def test_a_client_without_shared_settings_is_refused_with_a_way(holdfast: Holdfast) -> None:
    answer = holdfast("init", "--shared", "--client", "copilot")
    assert answer.code == 2
    assert "init --shared --client claude" in answer.err
    assert holdfast("init", "--shared", "--client", "opencode").code == 2
