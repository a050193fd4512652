"""`holdfast init` and `uninstall`: ours goes into each client's files, and out again without a trace."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.answers.wait import MAX_HELD_SECONDS
from holdfast.clients import launcher
from holdfast.clients.claude import events as claude_hooks
from holdfast.clients.claude import install as claude
from holdfast.clients.codex import events as codex_hooks
from holdfast.clients.codex import install as codex
from holdfast.clients.condition import clients_with_ours
from holdfast.clients.gemini import events as gemini_hooks
from holdfast.clients.gemini import install as gemini
from holdfast.clients.installation import has_server, server
from holdfast.clients.opencode import install as opencode
from holdfast.clients.settings import files, text_edit
from holdfast.clients.table import NAMES as CLIENTS
from holdfast.kernel.workspace import discover
from holdfast.processes.distribution import install_command
from holdfast.session.world import OWN_FILES
from tests.conftest import Git
from tests.hooks import world
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast

SETTINGS = Path(".claude/settings.local.json")
FILES = {
    "claude": [".claude/settings.local.json", ".mcp.json"],
    "codex": [".codex/hooks.json", ".codex/config.toml"],
    "gemini": [".gemini/settings.json"],
    "opencode": [".opencode/plugins/holdfast.js", "opencode.json"],
    "qwen": [".qwen/settings.json"],
    "copilot": [".github/copilot/settings.local.json", ".github/mcp.json"],
}
JSON_FILES = [
    (client, path) for client, paths in FILES.items() for path in paths if path.endswith("json")
]
OWN_HOOK = {"hooks": [{"type": "command", "command": "my-own-linter"}]}
ODD = [
    b'{"permissions":{"allow":["Bash(ls)"]}  ,\n\n\t"model" : "opus" }',
    b'\xef\xbb\xbf{"a": 1}',
    b'{\r\n  "a": 1\r\n}\r\n',
    b'{"text": "\\u00e4\\ud83d", "number": 1.0, "large": 1e5}',
    b"{}",
    b"",
    b"{ \n }",
    b'{"hooks": {}, "mcpServers": { }, "mcp": {\n}}',
    b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}], "AfterAgent": []}}',
    b'// mine\n{ /* a */ "a": [1, 2,], // b\n  "mcp": {"other": {"type": "remote"},}, }\n// end',
]
TOML = [
    b"",
    b'# Mine.\nmodel = "x" # and why\n\n[mcp_servers.other]\ncommand = "y"',
    b'model = "x"\r\n[a]\r\nb = 1\r\n',
    b'[projects."/a b"]\ntrust_level = "trusted"\n\n\n',
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any client."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


def settings() -> Any:
    return json.loads(SETTINGS.read_text("utf-8-sig"))


def everything(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in root.rglob("*")
        if ".git" not in path.parts
    }


# What is put in


@pytest.mark.clause("CCC-03")
def test_claudes_hooks_are_those_that_the_entry_answers(
    repository: Path, holdfast: Holdfast
) -> None:
    assert holdfast("init", "--client", "claude").code == 0
    hooks = settings()["hooks"]
    assert set(hooks) == set(claude.EVENTS)
    for event, groups in hooks.items():
        assert claude_hooks.EVENTS[event] != "nothing"
        lines = [ours["command"] for group in groups for ours in group["hooks"]]
        assert lines[0] == launcher.sourced_line("claude", event)
        assert all(
            set(ours) - {"statusMessage"} == {"type", "command", "timeout"}
            for group in groups
            for ours in group["hooks"]
        ), "Claude Code up to 2.1.100 leaves out a list of arguments"
    (compaction,) = hooks["PreCompact"][0]["hooks"]
    assert compaction["statusMessage"], "else it shows the command to the person and the model"
    assert settings()["statusLine"]["command"] == launcher.sourced_line("statusline")
    server = json.loads(Path(".mcp.json").read_text())["mcpServers"]["holdfast"]
    assert server["args"] == ["-P", "-m", "holdfast", "mcp"]
    assert settings()["enabledMcpjsonServers"] == ["holdfast"]


def test_codexs_hooks_are_shell_commands_and_nothing_else_is_in_their_file(
    repository: Path, holdfast: Holdfast
) -> None:
    answer = holdfast("init", "--client", "codex")
    document = json.loads(Path(".codex/hooks.json").read_text())
    assert set(document) == {"hooks"}, "Codex rejects a file with any other key"
    assert set(document["hooks"]) == set(codex.EVENTS)
    for event, [group] in document["hooks"].items():
        assert codex_hooks.EVENTS[event] != "nothing"
        (ours,) = group["hooks"]
        assert set(ours) == {"type", "command", "timeout"}
        assert ours["command"] == launcher.line("codex", event)
        seconds = {"SessionEnd": 3, "PermissionRequest": MAX_HELD_SECONDS + 20}
        assert ours["timeout"] <= seconds.get(event, 30), "seconds"
    server = tomllib.loads(Path(".codex/config.toml").read_text())["mcp_servers"]["holdfast"]
    assert server["args"] == ["-P", "-m", "holdfast", "mcp"]
    assert "/hooks" in answer.out, "the review is the user's"
    assert "trusted_hash" not in str(everything(repository)), "and never forged"


def test_geminis_hooks_count_in_milliseconds(repository: Path, holdfast: Holdfast) -> None:
    holdfast("init", "--client", "gemini")
    document = json.loads(Path(".gemini/settings.json").read_text())
    assert set(document["hooks"]) == set(gemini.EVENTS)
    for event, [group] in document["hooks"].items():
        assert gemini_hooks.EVENTS[event] != "nothing"
        (ours,) = group["hooks"]
        assert ours["command"] == launcher.sourced_line("gemini", event)
        assert 1_000 <= ours["timeout"] <= 60_000
    assert document["mcpServers"]["holdfast"]["args"] == ["-P", "-m", "holdfast", "mcp"]


def test_opencodes_plugin_starts_our_hook(repository: Path, holdfast: Holdfast) -> None:
    holdfast("init", "--client", "opencode")
    shim = Path(opencode.PLUGIN).read_text("utf-8")
    assert shim.startswith(opencode.MARK)
    (line,) = [line for line in shim.splitlines() if line.startswith("const COMMAND = ")]
    assert json.loads(line.removeprefix("const COMMAND = ")) == launcher.command()
    server = json.loads(Path("opencode.json").read_text())["mcp"]["holdfast"]
    assert server["type"] == "local"
    assert server["command"][1:] == ["-P", "-m", "holdfast", "mcp"]


def test_several_at_once_and_twice_changes_nothing(repository: Path, holdfast: Holdfast) -> None:
    words = [word for client in CLIENTS for word in ("--client", client)]
    assert holdfast("init", *words).code == 0
    once = everything(repository)
    for client, paths in FILES.items():
        assert set(paths) <= set(once), client
    answer = holdfast("init", *words, "--json")
    assert {one["status"] for one in answer.data["clients"]} == {"already"}
    assert everything(repository) == once


def test_without_a_flag_it_shows_what_it_would_do(
    repository: Path, holdfast: Holdfast, home: Path
) -> None:
    before = everything(repository)
    assert (
        "None of claude, codex, gemini, opencode, qwen, copilot was found" in holdfast("init").out
    )
    (home / ".codex").mkdir()
    (home / ".gemini").mkdir()
    answer = holdfast("init")
    assert f"Found: codex ({home}/.codex)" in answer.out
    assert f"Would write: gemini in {repository}/.gemini/settings.json" in answer.out
    assert "claude" not in answer.out
    assert "To do it: holdfast init --client codex --client gemini" in answer.out
    assert everything(repository) == before


def test_a_program_on_the_path_is_a_client_too(
    repository: Path, holdfast: Holdfast, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "opencode").write_text("#!/bin/sh\n")
    (home / "opencode").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    found = {one["client"]: one["because"] for one in holdfast("init", "--json").data["detected"]}
    assert found == {**dict.fromkeys(CLIENTS, ""), "opencode": f"{home}/opencode"}


def test_without_its_library_no_server_is_registered(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    words = [word for client in CLIENTS for word in ("--client", client)]
    answer = holdfast("init", *words)
    assert f"No MCP server is registered: {install_command('mcp')}" in answer.out
    for path in (".mcp.json", ".codex/config.toml", "opencode.json"):
        assert not Path(path).exists()
    assert "enabledMcpjsonServers" not in settings()


# And out again


@pytest.mark.parametrize("client", CLIENTS)
def test_without_a_file_before_there_is_none_afterwards(
    repository: Path, holdfast: Holdfast, client: str
) -> None:
    before = everything(repository)
    holdfast("init", "--client", client)
    assert everything(repository) != before
    said = holdfast("uninstall", "--client", client).out
    assert "Removed, because holdfast made it" in said
    assert "Restored" not in said
    assert everything(repository) == before
    assert "Nothing of Holdfast" in holdfast("uninstall", "--client", client).out
    assert "Nothing of Holdfast is installed." in holdfast("uninstall").out


@pytest.mark.matrix
@pytest.mark.parametrize("before", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize(("client", "path"), JSON_FILES)
def test_a_file_is_restored_byte_for_byte_also_after_an_edit(
    repository: Path, holdfast: Holdfast, client: str, path: str, before: bytes
) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(before)
    for _ in range(2):
        assert holdfast("init", "--client", client).code == 0
    now = text_edit.parse(Path(path).read_bytes().decode(errors="surrogateescape")).value
    if before.strip():
        for name, value in text_edit.parse(before.decode()).value.items():
            if name not in ("hooks", "mcpServers", "mcp"):
                assert now[name] == value
    assert holdfast("uninstall").code == 0
    assert Path(path).read_bytes() == before
    holdfast("init", "--client", client)
    comment = b"\n/* my own note */\n"
    Path(path).write_bytes(Path(path).read_bytes() + comment)
    holdfast("uninstall")
    assert Path(path).read_bytes() == (before if before.strip() else before + b"{}\n") + comment


@pytest.mark.parametrize("before", TOML, ids=range(len(TOML)))
def test_toml_is_restored_byte_for_byte_also_after_an_edit(
    repository: Path, holdfast: Holdfast, before: bytes
) -> None:
    path = Path(".codex/config.toml")
    path.parent.mkdir()
    path.write_bytes(before)
    holdfast("init", "--client", "codex")
    document = tomllib.loads(path.read_text())
    assert document["mcp_servers"]["holdfast"]["command"]
    holdfast("uninstall")
    assert path.read_bytes() == before
    holdfast("init", "--client", "codex")
    path.write_bytes(b"# New at the top.\n" + path.read_bytes() + b"\n[mine]\na = 1\n")
    holdfast("uninstall")
    assert path.read_bytes() == b"# New at the top.\n" + before + b"\n[mine]\na = 1\n"


def test_hooks_and_later_edits_of_the_users_stay(repository: Path, holdfast: Holdfast) -> None:
    SETTINGS.parent.mkdir()
    SETTINGS.write_text(json.dumps({"hooks": {"Stop": [OWN_HOOK]}}))
    holdfast("init", "--client", "claude")
    now = settings()
    assert now["hooks"]["Stop"][0] == OWN_HOOK
    assert len(now["hooks"]["Stop"]) == 2
    now["model"] = "opus"
    now["hooks"]["PreToolUse"].append(OWN_HOOK)
    now["hooks"]["PreToolUse"].reverse()
    SETTINGS.write_text(json.dumps(now))  # and all of it on one line
    assert "Took ours out, and left the rest" in holdfast("uninstall").out
    assert settings() == {"hooks": {"Stop": [OWN_HOOK], "PreToolUse": [OWN_HOOK]}, "model": "opus"}


def test_a_hook_of_the_users_in_the_same_group_as_ours_stays(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init", "--client", "claude")
    now = settings()
    now["hooks"]["Stop"][0]["hooks"].append(OWN_HOOK["hooks"][0])
    SETTINGS.write_text(json.dumps(now))
    holdfast("uninstall")
    assert settings() == {"hooks": {"Stop": [OWN_HOOK]}}


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_an_older_installation_is_replaced_and_not_doubled(
    repository: Path, holdfast: Holdfast, client: str
) -> None:
    holdfast("init", "--client", client)
    path = Path(FILES[client][0])
    new = path.read_text()
    path.write_text(new.replace("share/holdfast/hook.sh", "elsewhere/holdfast/hook.sh"))
    holdfast("init", "--client", client)
    assert json.loads(path.read_text()) == json.loads(new)
    holdfast("uninstall")
    assert not path.exists()


def test_what_the_user_has_set_already_stays_theirs(repository: Path, holdfast: Holdfast) -> None:
    SETTINGS.parent.mkdir()
    own = {"statusLine": {"type": "command", "command": "mine"}}
    SETTINGS.write_text(json.dumps(own))
    server = {"mcpServers": {"holdfast": {"command": "holdfast", "args": ["mcp"]}}}
    Path(".mcp.json").write_text(json.dumps(server))
    Path(".codex").mkdir()
    Path(".codex/config.toml").write_text('[mcp_servers.holdfast]\ncommand = "mine"\n')
    holdfast("init", "--client", "claude", "--client", "codex")
    assert settings()["statusLine"] == own["statusLine"]
    holdfast("uninstall")
    assert settings() == own
    assert json.loads(Path(".mcp.json").read_text()) == server
    assert Path(".codex/config.toml").read_text() == '[mcp_servers.holdfast]\ncommand = "mine"\n'


@pytest.mark.parametrize(
    ("client", "path", "before"),
    [
        *((client, path, b"not json") for client, path in JSON_FILES),
        ("claude", ".claude/settings.local.json", b"[]"),
        ("claude", ".claude/settings.local.json", b'{"hooks": []}'),
        ("claude", ".claude/settings.local.json", b'{"hooks": {"Stop": 7}}'),
        ("claude", ".claude/settings.local.json", b"\xff\xfe{"),
        ("claude", ".mcp.json", b'{"mcpServers": []}'),
        ("gemini", ".gemini/settings.json", b'{"a": 1'),
        ("gemini", ".gemini/settings.json", b'{"a": 1} {"b": 2}'),
        ("gemini", ".gemini/settings.json", b'{"a" /* no end'),
        ("gemini", ".gemini/settings.json", b"[" * 100_000),
        ("codex", ".codex/config.toml", b"= nothing"),
        ("opencode", ".opencode/plugins/holdfast.js", b"export const Mine = 1"),
    ],
)
def test_what_cannot_be_understood_is_refused_and_nothing_is_written(
    repository: Path, holdfast: Holdfast, client: str, path: str, before: bytes
) -> None:
    Path(path).parent.mkdir(exist_ok=True, parents=True)
    Path(path).write_bytes(before)
    found = everything(repository)
    answer = holdfast("init", "--client", client)
    assert answer.code == 1
    assert Path(path).name in answer.err
    assert everything(repository) == found, "also none of the client's other files"


def test_a_link_and_a_mode_stay(repository: Path, holdfast: Holdfast) -> None:
    shared = repository / "shared.json"
    shared.write_text("{}")
    shared.chmod(0o600)
    SETTINGS.parent.mkdir()
    SETTINGS.symlink_to(shared)
    holdfast("init", "--client", "claude")
    assert "holdfast" in shared.read_text()
    holdfast("uninstall")
    assert SETTINGS.is_symlink()
    assert (shared.read_text(), shared.stat().st_mode & 0o777) == ("{}", 0o600)


def test_a_dry_run_changes_nothing(repository: Path, holdfast: Holdfast) -> None:
    assert "Would write: claude" in holdfast("init", "--client", "claude", "--dry-run").out
    assert not SETTINGS.parent.exists()
    holdfast("init", "--client", "claude")
    installed = everything(repository)
    said = holdfast("uninstall", "--dry-run").out
    assert f"Would remove, because holdfast made it: {SETTINGS.resolve()}" in said
    assert "Restored" not in said
    assert everything(repository) == installed


def test_the_stop_handler_of_the_original_is_warned_of(
    repository: Path, holdfast: Holdfast, home: Path
) -> None:
    stop = {"type": "command", "command": "bash hooks/scripts/ccc-stop-handler.sh"}
    plugin = home / ".claude/plugins/cache/market/ccc/1.0.0/hooks"
    plugin.mkdir(parents=True)
    (plugin / "hooks.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [stop]}]}}))
    answer = holdfast("init", "--client", "claude")
    assert f"{plugin}/hooks.json runs the CCC project's own stop handler" in answer.out
    (plugin / "hooks.json").unlink()
    assert "stop handler" not in holdfast("init", "--client", "claude").out


def test_without_the_record_of_what_was_there_ours_is_still_taken_out(
    repository: Path, holdfast: Holdfast
) -> None:
    Path(".gemini").mkdir()
    Path(".gemini/settings.json").write_text('{"theme": "dark"}')
    holdfast("init", "--client", "gemini")
    for record in Path(".git/holdfast/clients").iterdir():
        record.write_text("damaged")
    holdfast("uninstall")
    assert json.loads(Path(".gemini/settings.json").read_text()) == {"theme": "dark"}


def test_a_folder_without_the_right_to_write(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "write_synced", refused)
    answer = holdfast("init", "--client", "gemini")
    assert answer.code != 0
    assert f"writing {repository}/.git/holdfast/clients/" in answer.err
    assert os.listdir(".") == os.listdir(repository)


def test_the_journal_and_the_work_stay(repository: Path, holdfast: Holdfast) -> None:
    holdfast("checkpoint", *session_world.WORK)
    holdfast("init", "--client", "claude")
    before = session_world.PROGRESS.read_bytes()
    holdfast("uninstall")
    assert session_world.PROGRESS.read_bytes() == before
    assert holdfast("resume").code == 0


def test_all_clients_are_known_everywhere(repository: Path, holdfast: Holdfast) -> None:
    detected = holdfast("init", "--json").data["detected"]
    assert tuple(one["client"] for one in detected) == CLIENTS == world.CLIENTS


def user_status_line(home: Path, command: str = "mine") -> Path:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"statusLine": {"type": "command", "command": command}}))
    return path


@pytest.mark.parametrize("level", ["user", "project"])
def test_a_status_line_of_the_user_in_another_file_is_not_overridden(
    repository: Path, holdfast: Holdfast, level: str
) -> None:
    path = user_status_line(Path.home() if level == "user" else repository)
    answer = holdfast("init", "--client", "claude")
    assert "statusLine" not in settings()
    assert f"statusLine in {path} is yours, and stays" in answer.out
    assert "All is well." in holdfast("doctor").out
    holdfast("uninstall")
    assert not SETTINGS.exists()


def test_a_status_line_that_the_user_adds_later_wins(repository: Path, holdfast: Holdfast) -> None:
    holdfast("init", "--client", "claude")
    path = user_status_line(Path.home())
    assert f"overrides yours in {path}." in holdfast("doctor").out
    holdfast("init", "--client", "claude")
    assert "statusLine" not in settings()
    assert "overrides" not in holdfast("doctor").out


def test_ours_goes_although_the_user_set_one_elsewhere_since(
    repository: Path, holdfast: Holdfast
) -> None:
    holdfast("init", "--client", "claude")
    user_status_line(Path.home())
    SETTINGS.write_text(json.dumps({**settings(), "model": "opus"}))
    holdfast("uninstall")
    assert settings() == {"model": "opus"}


def test_the_files_that_count_as_ours_are_those_that_init_writes() -> None:
    """A change of any other settings is a change of the work, and a resume names it."""
    folders = (*(f".{client}/" for client in CLIENTS), ".github/")
    ours = {path for path in OWN_FILES if path.startswith(folders)}
    assert ours == {path for paths in FILES.values() for path in paths if path.startswith(folders)}


def test_git_does_not_see_the_settings_that_init_made(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    holdfast("init", *(word for client in CLIENTS for word in ("--client", client)))
    assert git("status", "--porcelain", "--untracked-files=all") == ""
    holdfast("uninstall", "--client", "claude")
    assert git("status", "--porcelain", "--untracked-files=all") == "", "the others stay hidden"
    assert "claude" not in Path(".git/info/exclude").read_text()


def test_a_file_that_was_there_is_not_hidden_and_its_user_is_told(
    repository: Path, holdfast: Holdfast, git: Git
) -> None:
    Path(".mcp.json").write_text("{}")
    answer = holdfast("init", "--client", "claude")
    assert git("status", "--porcelain").split() == ["??", ".mcp.json"]
    assert f"{repository}/.mcp.json now names paths of this machine" in answer.out


def test_doctor_says_that_git_sees_settings(repository: Path, holdfast: Holdfast) -> None:
    holdfast("init", "--client", "claude")
    assert "ok  Git does not see the settings that `holdfast init` made" in holdfast("doctor").out
    Path(".git/info/exclude").write_text("")
    seen = holdfast("doctor").out
    assert "Git sees .claude/settings.local.json, .mcp.json, which `holdfast init` made." in seen
    holdfast("doctor", "--fix")
    assert "ok  Git does not see the settings that `holdfast init` made" in holdfast("doctor").out


@pytest.mark.parametrize("client", CLIENTS)
def test_a_person_who_wants_no_mcp_server_gets_the_hooks_alone(
    repository: Path, holdfast: Holdfast, client: str
) -> None:
    workspace = discover()
    assert holdfast("init", "--client", client, "--no-mcp").code == 0
    assert clients_with_ours(workspace, server()) == [client]
    assert not has_server(workspace, client)
    assert f"This holdfast is in the settings of {client}" in holdfast("doctor").out
    holdfast("init", "--client", client)
    assert has_server(workspace, client), "and takes it when they ask for it"
    holdfast("init", "--client", client, "--no-mcp")
    assert not has_server(workspace, client), "and loses it again"
    again = holdfast("init", "--client", client, "--no-mcp")
    assert "Everything is in place already." in again.out
    assert f"This holdfast is in the settings of {client}" in holdfast("doctor").out


def test_init_names_every_file_that_it_writes(repository: Path, holdfast: Holdfast) -> None:
    def written() -> set[str]:
        return {
            str(path)
            for top in (repository, Path.home())
            for path in top.rglob("*")
            if path.is_file()
        }

    before = written()
    said = json.loads(holdfast("init", "--client", "claude", "--dry-run", "--json").out)["data"]
    assert written() == before
    holdfast("init", "--client", "claude")
    named = [file["path"] for one in said["clients"] for file in one["files"]]
    named += [one["path"] for one in said["beside"]]
    # The lock of a folder is beside what it protects.
    unnamed = {
        path
        for path in written() - before
        if not any(path == one or path.startswith(f"{one}/") for one in named)
    }
    assert {Path(path).name for path in unnamed} <= {"lock"}


def test_without_a_journal_uninstall_names_none(repository: Path, holdfast: Holdfast) -> None:
    holdfast("init", "--client", "claude")
    assert "the journal of all" not in holdfast("uninstall").out
    assert not Path(".git/holdfast").exists()


def test_status_says_that_a_client_waits_for_its_user_s_review(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "codex"
    home.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(home))
    waits = "Codex runs no hook of this project before you have reviewed it"
    assert waits not in holdfast("status").out
    holdfast("init", "--client", "codex")
    assert waits in holdfast("status").out
    place = Path(".codex/hooks.json").resolve()
    (home / "config.toml").write_text(f'[hooks.state."{place}:stop"]\ndigest = "1"\n', "utf-8")
    assert waits not in holdfast("status").out
