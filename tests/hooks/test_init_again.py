"""`holdfast init` and `uninstall` after what happens to settings in the meantime."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.table import NAMES as CLIENTS
from holdfast.hooks.activity import LOOKED
from holdfast.hooks.run import command, respond_to
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.workspace import discover
from holdfast.session import session_files
from tests.hooks import test_init
from tests.hooks.test_init import FILES, SETTINGS, everything
from tests.hooks.world import ask, given
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast
home = test_init.home

ALL = [word for client in CLIENTS for word in ("--client", client)]
MCP = Path(".mcp.json")
GEMINI = Path(".gemini/settings.json")
CODEX = Path(".codex/config.toml")


# What is installed and does not work


@pytest.mark.parametrize("client", CLIENTS)
def test_hooks_whose_python_is_gone_are_a_problem_for_the_doctor(
    repository: Path, holdfast: Holdfast, home: Path, client: str
) -> None:
    holdfast("init", "--client", client)
    assert f"This holdfast is in the settings of {client}" in holdfast("doctor").out
    for name in FILES[client]:
        path = Path(name)
        path.write_text(path.read_text().replace("/bin/python", "/gone/python"))
    answer = holdfast("doctor")
    assert answer.code == 1
    assert "/gone/python" in answer.out
    assert f"fix: holdfast init --client {client}" in answer.out
    assert f"To repair it: holdfast init --client {client}" in holdfast("init").out
    holdfast("init", "--client", client)
    answer = holdfast("doctor")
    assert f"This holdfast is in the settings of {client}" in answer.out


def test_another_holdfasts_hooks_are_a_warning(
    repository: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    holdfast("init", "--client", "gemini")
    other = tmp_path / "python"
    other.touch()
    document = json.loads(GEMINI.read_text())
    document["mcpServers"]["holdfast"]["command"] = str(other)
    GEMINI.write_text(json.dumps(document))
    (check,) = [
        one for one in holdfast("doctor", "--json").data["checks"] if one["id"] == "clients"
    ]
    assert (check["status"], check["fix"]) == ("warning", "holdfast init --client gemini")


# The HTTP hooks that an older `init --http` wrote


OLDER_HTTP_HOOK = {
    "type": "http",
    "url": "http://127.0.0.1:4653/hooks/claude/PostToolUse",
    "headers": {"Authorization": "Bearer $HOLDFAST_AGENTS_TOKEN"},
    "allowedEnvVars": ["HOLDFAST_AGENTS_TOKEN"],
    "timeout": 10,
}
USERS_HTTP_HOOK = {"type": "http", "url": "http://audit.example/PostToolUse"}


@pytest.fixture
def older_settings(repository: Path) -> dict[str, Any]:
    """Settings with the hooks of an older `init --http` beside a hook of the user's. The user's part."""
    users: dict[str, Any] = {"hooks": {"PostToolUse": [{"hooks": [USERS_HTTP_HOOK]}]}, "a": 1}
    program, *arguments = command("claude", "PreToolUse", "unwatched")
    before_a_tool = {"type": "command", "command": program, "args": arguments, "timeout": 10}
    written = json.loads(json.dumps(users))
    written["hooks"]["PostToolUse"].append({"hooks": [OLDER_HTTP_HOOK]})
    written["hooks"]["PreToolUse"] = [{"hooks": [before_a_tool]}]
    SETTINGS.parent.mkdir()
    SETTINGS.write_text(json.dumps(written, indent=2))
    return users


def test_uninstall_takes_out_older_http_hooks_and_leaves_the_users(
    older_settings: dict[str, Any], holdfast: Holdfast
) -> None:
    assert holdfast("uninstall", "--client", "claude").code == 0
    assert json.loads(SETTINGS.read_text()) == older_settings


def test_init_replaces_older_http_hooks_by_commands(
    older_settings: dict[str, Any], holdfast: Holdfast
) -> None:
    (check,) = [
        one for one in holdfast("doctor", "--json").data["checks"] if one["id"] == "clients"
    ]
    assert (check["status"], check["fix"]) == ("warning", "holdfast init --client claude")
    assert holdfast("init", "--client", "claude").code == 0
    assert "HOLDFAST_AGENTS_TOKEN" not in SETTINGS.read_text()
    groups = json.loads(SETTINGS.read_text())["hooks"]["PostToolUse"]
    assert [group["hooks"][0]["type"] for group in groups] == ["http", "command"]
    assert "This holdfast is in the settings of claude" in holdfast("doctor").out
    holdfast("uninstall", "--client", "claude")
    assert json.loads(SETTINGS.read_text()) == older_settings


def test_the_older_command_before_a_tool_still_checks_the_budget(repository: Path) -> None:
    """Nothing runs after a tool there: the command before it looks every two minutes."""
    workspace = discover()
    ask("claude", "PreToolUse")
    assert session_files.seen_at(workspace, "s1", LOOKED) is None
    respond_to("claude", "PreToolUse unwatched", given(), may_leave=False)
    assert session_files.seen_at(workspace, "s1", LOOKED) is not None


# All or nothing


@pytest.mark.parametrize("verb", ["init", "uninstall"])
def test_one_clients_broken_file_keeps_all_of_them_unchanged(
    repository: Path, holdfast: Holdfast, verb: str
) -> None:
    if verb == "uninstall":
        holdfast("init", *ALL)
    GEMINI.parent.mkdir(exist_ok=True)
    GEMINI.write_text("{ broken holdfast")
    before = everything(repository)
    answer = holdfast(verb, *ALL)
    assert answer.code == 1
    assert str(GEMINI) in answer.err
    assert "nothing was changed" in answer.err
    assert everything(repository) == before


def test_a_broken_file_with_nothing_of_ours_is_no_matter_for_uninstall(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init", "--client", "claude")
    GEMINI.parent.mkdir()
    GEMINI.write_text("{ broken")
    assert holdfast("uninstall").code == 0
    assert not SETTINGS.exists()
    assert GEMINI.read_text() == "{ broken"


def test_what_was_changed_before_a_failure_is_said(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = TreeFile.write

    def full(file: TreeFile, *rest: Any) -> None:
        if str(file).endswith(str(GEMINI)):
            raise OSError(28, "No space left on device")
        write(file, *rest)

    monkeypatch.setattr(TreeFile, "write", full)
    answer = holdfast("init", "--client", "claude", "--client", "gemini")
    assert answer.code == 75
    assert f"Changed before that: {repository}/{SETTINGS}, {repository}/{MCP}." in answer.err


def test_a_record_that_cannot_be_removed_stops_nothing(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(repository)
    holdfast("init", *ALL)
    unlink = os.unlink

    def refused(path: str, **named: Any) -> None:
        if "/.git/holdfast/clients/" in path:
            raise PermissionError(13, "Permission denied")
        unlink(path, **named)

    # Not until the test's end: before that, pytest removes the test's folder.
    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", refused)
        answer = holdfast("uninstall")
    assert answer.code == 0
    assert "is of no more use, and stays: Permission denied" in answer.out
    assert everything(repository) == before


# What init made is gone afterwards


@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_that_init_made_goes_also_after_an_edit_and_another_init(
    repository: Path, holdfast: Holdfast, client: str
) -> None:
    before = everything(repository)
    holdfast("init", "--client", client)
    for name in FILES[client]:
        path = Path(name)
        path.write_text(path.read_text().replace("python", "python-old") + "\n")
    holdfast("init", "--client", client)
    for name in FILES[client]:
        path = Path(name)
        path.write_text(path.read_text() + "\n")
    assert "Removed, because holdfast made it" in holdfast("uninstall").out
    assert everything(repository) == before


def test_what_the_user_added_to_a_file_that_init_made_stays(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init", "--client", "gemini")
    document = json.loads(GEMINI.read_text())
    document["theme"] = "dark"
    document["mcpServers"]["holdfast"]["command"] = "/old/python"
    GEMINI.write_text(json.dumps(document))
    holdfast("init", "--client", "gemini")
    holdfast("uninstall")
    assert json.loads(GEMINI.read_text()) == {"theme": "dark"}


def test_a_repository_that_was_moved_is_restored_too(
    repository: Path, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("opencode.json").write_text('{"a" :1}')
    before = everything(repository)
    holdfast("init", *ALL)
    moved = tmp_path / "moved"
    shutil.move(repository, moved)
    monkeypatch.chdir(moved)
    assert "Restored as it was" in holdfast("uninstall").out
    assert everything(moved) == before


# What is somebody else's, or cannot be added to


def test_a_name_that_stands_there_twice_is_refused(repository: Path, holdfast: Holdfast) -> None:
    SETTINGS.parent.mkdir()
    stop = '{"hooks": {"Stop": [], "Stop": []}}'
    for twice in ('{"hooks": {}, "hooks": {}}', stop, '{"mine": 1, "mine": 2}'):
        SETTINGS.write_text(twice)
        answer = holdfast("init", "--client", "claude")
        assert answer.code == 1
        assert "twice" in answer.err
        assert SETTINGS.read_text() == twice


def test_a_server_of_somebody_elses_is_named(repository: Path, holdfast: Holdfast) -> None:
    MCP.write_text('{"mcpServers": {"holdfast": {"command": "mine"}}}')
    CODEX.parent.mkdir()
    CODEX.write_text('[mcp_servers.holdfast]\ncommand = "mine"\n')
    for _ in range(2):
        answer = holdfast("init", "--client", "claude", "--client", "codex")
        assert f"Left as it is: claude in {repository}/.mcp.json" in answer.out
        assert f"mcpServers.holdfast in {repository}/.mcp.json is not ours" in answer.out
        assert f"mcp_servers.holdfast in {repository}/.codex/config.toml is not ours" in answer.out


def test_tables_in_braces_are_left_and_the_hooks_are_installed(
    repository: Path, holdfast: Holdfast
) -> None:
    CODEX.parent.mkdir()
    CODEX.write_text('mcp_servers = { other = { command = "x" } }\n')
    answer = holdfast("init", "--client", "codex")
    assert answer.code == 0
    assert "mcp_servers is written as a value in braces" in answer.out
    assert "holdfast = { command = " in answer.out
    assert Path(".codex/hooks.json").exists()
    assert CODEX.read_text() == 'mcp_servers = { other = { command = "x" } }\n'


@pytest.mark.parametrize("keys", [5_000, pytest.param(50_000, marks=pytest.mark.proof)])
def test_very_large_settings(repository: Path, holdfast: Holdfast, keys: int) -> None:
    GEMINI.parent.mkdir()
    GEMINI.write_text(json.dumps({f"key {number}": number for number in range(keys)}, indent=2))
    before = GEMINI.read_bytes()
    assert holdfast("init", "--client", "gemini").code == 0
    assert holdfast("uninstall").code == 0
    assert GEMINI.read_bytes() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_the_second_run_says_that_everything_is_in_place(
    client: str, repository: Path, holdfast: Holdfast
) -> None:
    first = holdfast("init", "--client", client, "--json").data
    assert first["in_place"] is False
    assert "installed" in {one["status"] for one in first["beside"]}
    for words in ([], ["--dry-run"]):
        again = holdfast("init", "--client", client, *words)
        assert again.code == 0
        assert "Everything is in place already. Nothing was changed." in again.out
        assert "beside them" not in again.out
        assert "To do it" not in again.out
        data = holdfast("init", "--client", client, *words, "--json").data
        assert data["in_place"] is True
        assert {one["status"] for one in data["beside"]} == {"already"}
    assert f"Set up in this project: {client}." in holdfast("init").out


def test_the_second_run_names_only_what_it_mends(repository: Path, holdfast: Holdfast) -> None:
    assert holdfast("init", "--client", "claude").code == 0
    Path(".git/info/exclude").unlink()
    shown = holdfast("init", "--client", "claude", "--dry-run")
    assert "To do it: holdfast init --client claude" in shown.out
    mended = holdfast("init", "--client", "claude")
    assert "Everything is in place" not in mended.out
    written = mended.out.partition("Written beside them:")[2]
    assert ".git/info/exclude" in written
    assert "workspaces.json" not in written
    assert ".claude/settings.local.json" in Path(".git/info/exclude").read_text()
    assert "Everything is in place" in holdfast("init", "--client", "claude").out
