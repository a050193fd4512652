"""The plugins' trees are whole, and every command that they name is one."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from scripts import plugins

from holdfast.cli.parser import root
from holdfast.clients.claude import events as claude
from holdfast.clients.codex import events as codex
from holdfast.clients.gemini import events as gemini
from holdfast.kernel.text import split_words

ROOT = plugins.ROOT
TEXTS = sorted(plugins.SOURCE.rglob("*.md"))
RUN = plugins.SOURCE / "hooks" / "run"


def test_the_generated_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert plugins.main(["--check"]) == 0, capsys.readouterr().err


def test_nothing_is_left_of_what_is_generated_no_more() -> None:
    sources = {path for path in plugins.SOURCE.rglob("*") if path.is_file()}
    found = {path for path in plugins.PLUGINS.rglob("*") if path.is_file()}
    assert found - sources - set(plugins.written()) == set()


def test_the_marketplace_leads_to_a_plugin_of_that_name() -> None:
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert [plugin["name"] for plugin in market["plugins"]] == ["holdfast", "ccc", "autopilot"]
    for plugin in market["plugins"]:
        manifest = ROOT / plugin["source"] / ".claude-plugin" / "plugin.json"
        assert json.loads(manifest.read_text())["name"] == plugin["name"]


@pytest.mark.clause("CCC-03")
def test_the_protocols_own_names_are_there() -> None:
    for command in ("ccc/checkpoint", "ccc/go", "autopilot/takeoff", "autopilot/cockpit"):
        plugin, name = command.split("/")
        assert (plugins.PLUGINS / plugin / "commands" / f"{name}.md").exists()
        assert (plugins.PLUGINS / "gemini" / "commands" / f"{command}.toml").exists()
        assert (plugins.PLUGINS / "opencode" / "commands" / f"{command}.md").exists()


def test_a_command_says_what_it_is_for_and_takes_the_users_words() -> None:
    for name in plugins.COMMANDS:
        text = (plugins.SOURCE / "commands" / f"{name}.md").read_text(encoding="utf-8")
        _, head, body = text.split("---\n", 2)
        assert re.search(r"^description: \S", head, re.MULTILINE)
        assert body.count("$ARGUMENTS") == 1
        extension = plugins.PLUGINS / "gemini" / "commands" / "holdfast" / f"{name}.toml"
        told = tomllib.loads(extension.read_text(encoding="utf-8"))
        assert told["description"]
        assert told["prompt"].count("{{args}}") == 1


def named() -> list[str]:
    """Every command of ours that a text names, as it stands there."""
    found = set()
    for path in TEXTS:
        found |= set(re.findall(r"`(holdfast [^`]+)`", path.read_text(encoding="utf-8")))
    return sorted(found)


@pytest.mark.parametrize("line", named())
def test_every_command_that_is_named_exists(line: str) -> None:
    assert_it_exists(shlex.split(line)[1:])


def assert_it_exists(words: list[str]) -> None:
    command: click.Command = root
    # As the tool itself does it: click keeps the first help option that a command was asked for.
    context = click.Context(root, help_option_names=["-h", "--help"])
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0)) if words else None
        assert found is not None, words
        command = found
    known = {option for each in command.get_params(context) for option in each.opts}
    assert {word for word in words if word.startswith("-") and word != "-"} <= known


@pytest.mark.clause("PILOT-64")
@pytest.mark.parametrize("name", plugins.COMMANDS)
def test_the_options_that_a_command_hints_at_exist(name: str) -> None:
    text = (plugins.SOURCE / "commands" / f"{name}.md").read_text(encoding="utf-8")
    hint = re.search(r'^argument-hint: "(.*)"$', text, re.MULTILINE)
    options = re.findall(r"--[a-z-]+", hint[1]) if hint else []
    if options:
        assert_it_exists([name, *options])
    if name in plugins.THIN["autopilot"]:
        assert "--reset-alerts" in options


# Agent Plugins specification 1.0.0: any other field at the top is no part of it.
MANIFEST_FIELDS = set(
    split_words(
        "$schema name version description displayName author homepage repository "
        "license keywords extensions"
    )
)


@pytest.mark.parametrize("name", ["holdfast", *plugins.THIN])
def test_a_plugin_has_the_portable_manifest_beside_the_clients_own(name: str) -> None:
    folder = plugins.PLUGINS / name
    place = plugins.PORTABLE if name == "holdfast" else folder
    manifest = json.loads((place / "plugin.json").read_text(encoding="utf-8"))
    own = json.loads((folder / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert set(manifest) <= MANIFEST_FIELDS
    assert manifest["$schema"] == "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
    assert re.fullmatch(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", manifest["name"])
    assert set(manifest["author"]) <= {"name", "email", "url"}
    shared = ("name", "version", "description", "license", "author")
    assert {key: manifest[key] for key in shared} == {key: own[key] for key in shared}


def test_the_portable_server_is_the_one_of_the_clients() -> None:
    portable = json.loads((plugins.PORTABLE / "mcp.json").read_text(encoding="utf-8"))
    own = json.loads((plugins.SOURCE / ".mcp.json").read_text(encoding="utf-8"))
    assert set(portable) == {"$schema", "mcpServers"}
    assert portable["$schema"] == "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
    server = portable["mcpServers"]["holdfast"]
    assert server.pop("type") == "stdio"
    assert server == own["mcpServers"]["holdfast"]
    assert set(server) <= {"command", "args", "env", "cwd"}


def test_the_skill_is_short() -> None:
    skill = plugins.SOURCE / "skills" / "holdfast" / "SKILL.md"
    lines = skill.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 100
    assert lines[0] == "---"
    assert "name: holdfast" in lines


def test_the_hooks_are_events_that_both_clients_know() -> None:
    hooks = json.loads((plugins.SOURCE / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(hooks) <= set(claude.EVENTS) & set(codex.EVENTS)
    assert {"SessionStart", "PreToolUse", "PreCompact", "Stop", "SessionEnd"} <= set(hooks)
    extension = plugins.PLUGINS / "gemini" / "hooks" / "hooks.json"
    other = json.loads(extension.read_text())["hooks"]
    assert set(other) <= set(gemini.EVENTS)
    (group,) = other["AfterAgent"]
    assert group["hooks"][0]["timeout"] >= 10_000, "milliseconds"


# The script that a plugin's hook starts


def run(event: str, path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shutil.which("sh") or "/bin/sh", str(RUN), event],
        env={"PATH": str(path), "HOME": str(path), **variables},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with a grep, and a holdfast that says how it was called."""
    folder = tmp_path / "a path with blanks"
    folder.mkdir()
    os.symlink(shutil.which("grep") or "", folder / "grep")
    tool = folder / "holdfast"
    tool.write_text(f"#!{sys.executable}\nimport sys\nprint(*sys.argv[1:])\nsys.exit(3)\n")
    tool.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("client", "variables"),
    [
        ("claude", {"CLAUDE_PROJECT_DIR": "/nowhere"}),
        ("codex", {"PLUGIN_ROOT": "/somewhere", "CLAUDE_PLUGIN_ROOT": "/somewhere"}),
        ("gemini", {"GEMINI_SESSION_ID": "7", "CLAUDE_PROJECT_DIR": "/nowhere"}),
        ("copilot", {"COPILOT_PLUGIN_ROOT": "/a", "PLUGIN_ROOT": "/a", "COPILOT_PROJECT_DIR": "/"}),
    ],
)
def test_a_plugins_hook_knows_its_client_and_never_fails_it(
    programs: Path, client: str, variables: dict[str, str]
) -> None:
    done = run("Stop", programs, **variables)
    assert (done.returncode, done.stdout) == (0, f"hook {client} Stop\n")


def test_a_plugins_hook_leaves_it_to_the_hooks_of_init(programs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a project" / ".claude"
    folder.mkdir(parents=True)
    (folder / "settings.local.json").write_text('{"args": ["/x/holdfast/hooks/entry.py"]}')
    done = run("Stop", programs, CLAUDE_PROJECT_DIR=str(folder.parent))
    assert (done.returncode, done.stdout) == (0, "")


def test_without_holdfast_the_agent_is_told_once_and_goes_on(programs: Path) -> None:
    (programs / "holdfast").unlink()
    done = run("SessionStart", programs)
    assert done.returncode == 0
    assert "there is no command holdfast (pip install holdfast-agents)" in done.stdout
    assert run("Stop", programs).stdout == ""
