"""Claude Code: `.claude/settings.local.json`, which git does not see, and the project's `.mcp.json`."""

from __future__ import annotations

import os
from glob import glob

from holdfast.clients import launcher
from holdfast.clients.settings.files import Part
from holdfast.clients.settings.parts import (
    JsonPart,
    hook_group,
    hook_groups,
    is_ours,
    server_entry,
    with_seconds,
)
from holdfast.clients.table import CLIENTS, home_of
from holdfast.kernel.canonical_json import read_table
from holdfast.kernel.workspace import Workspace

SETTINGS, SERVERS = CLIENTS["claude"].files
# Without more than its own, a session's end has 1.5 s.
EVENTS = with_seconds(
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PermissionRequest "
    "Notification Elicitation StopFailure PreCompact Stop SessionEnd"
) | {"PermissionRequest": 3660}  # its own dialogue is open meanwhile
# Tools that run no command: what they are given may be a whole file, and need not be read.
UNREAD = "Edit|Glob|Grep|MultiEdit|NotebookEdit|Read|TodoWrite|WebFetch|WebSearch|Write"
# The stop handler of the CCC project itself: two loops would drive the agent on.
ORIGINALS = "ccc-stop-handler"


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    groups = hook_groups("claude", EVENTS)
    words, limit = ("claude", "PreToolUse"), EVENTS["PreToolUse"]
    groups["PreToolUse"] = [
        hook_group(launcher.sourced_line(*words), limit, matcher=f"^(?!({UNREAD})$)"),
        hook_group(launcher.sourced_line(*words, "unread"), limit, matcher=UNREAD),
    ]
    # Claude Code shows this name at a compaction, to the person and to the model, and the command without it.
    groups["PreCompact"][0]["hooks"][0]["statusMessage"] = "Holdfast keeps the state"
    status_line = {"type": "command", "command": launcher.sourced_line("statusline")}
    approved = [(["enabledMcpjsonServers"], "holdfast")] if server else []
    found: list[Part] = [
        JsonPart(
            os.path.join(workspace.root, SETTINGS),
            hooks=groups,
            members=[(["statusLine"], status_line)],
            items=approved,
            elsewhere=_own_status_line(workspace),
        )
    ]
    if server:
        path = os.path.join(workspace.root, SERVERS)
        members = [(["mcpServers", "holdfast"], server_entry(server))]
        found.append(JsonPart(path, members=members))
    return found


def _own_status_line(workspace: Workspace) -> dict[str, str]:
    """The file with the user's own status line, which Claude Code would not show any more: the local
    settings of a project override its shared ones, and those override the user's."""
    for folder in (os.path.join(workspace.root, ".claude"), home_of("claude")):
        path = os.path.join(folder, "settings.json")
        line = read_table(path).get("statusLine")
        if line and not is_ours(line):
            return {"statusLine": path}
    return {}


def notes(workspace: Workspace) -> list[str]:
    found = [path for path in _settings_files(workspace) if ORIGINALS in launcher.content_of(path)]
    return [
        f"{path} runs the CCC project's own stop handler: two loops would drive the agent. "
        "Take one of them out."
        for path in found
    ]


def _settings_files(workspace: Workspace) -> list[str]:
    home, project = home_of("claude"), os.path.join(workspace.root, ".claude")
    named = (home, "settings.json"), (project, "settings.json"), (project, "settings.local.json")
    plugins = os.path.join(home, "plugins", "cache", "*", "*", "*", "hooks", "hooks.json")
    return [*(os.path.join(*names) for names in named), *sorted(glob(plugins))]
