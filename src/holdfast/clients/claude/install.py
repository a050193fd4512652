"""Claude Code: `.claude/settings.local.json`, which git does not see, and the project's `.mcp.json`."""

from __future__ import annotations

import json
import os
from glob import glob

from holdfast.clients import launcher
from holdfast.clients.settings.parts import JsonPart, hook_group, is_ours
from holdfast.clients.table import home_of
from holdfast.kernel.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

PROGRAM = "claude"
# The first version that knows all of our events; an older one calls the settings invalid. The sources of
# these versions are in docs/how-to/clients.md.
OLDEST = "2.1.78"
# What a user has to do before hooks run.
REVIEW = ""
SETTINGS = os.path.join(".claude", "settings.local.json")
# Event, and the seconds that Claude Code may wait for us. Without more, a session's end has 1.5 s.
EVENTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PreToolUse": 10,
    "PostToolUse": 10,
    "PermissionRequest": 10,
    "Notification": 10,
    "Elicitation": 10,
    "StopFailure": 10,
    "PreCompact": 20,
    "Stop": 20,
    "SessionEnd": 5,
}
# Tools that run no command: what they are given may be a whole file, and need not be read.
UNREAD = "Edit|Glob|Grep|MultiEdit|NotebookEdit|Read|TodoWrite|WebFetch|WebSearch|Write"
# The stop handler of the CCC project itself: two loops would drive the agent on.
ORIGINALS = "ccc-stop-handler"


def home() -> str:
    return home_of(PROGRAM)


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    groups = {event: [_group(event, limit)] for event, limit in EVENTS.items()}
    limit = EVENTS["PreToolUse"]
    groups["PreToolUse"] = [
        _group("PreToolUse", limit, matcher=f"^(?!({UNREAD})$)"),
        _group("PreToolUse", limit, "unread", matcher=UNREAD),
    ]
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
        entry = {"command": server[0], "args": server[1:]}
        path = os.path.join(workspace.root, ".mcp.json")
        found.append(JsonPart(path, members=[(["mcpServers", "holdfast"], entry)]))
    return found


def _own_status_line(workspace: Workspace) -> dict[str, str]:
    """The file with the user's own status line, which Claude Code would not show any more: the local
    settings of a project override its shared ones, and those override the user's."""
    for folder in (os.path.join(workspace.root, ".claude"), home()):
        path = os.path.join(folder, "settings.json")
        try:
            found = json.loads(read_plain(path))
        except (OSError, ValueError, RecursionError):
            continue  # Claude Code reads none of it either
        line = found.get("statusLine") if isinstance(found, dict) else None
        if line and not is_ours(line):
            return {"statusLine": path}
    return {}


def _group(event: str, limit: int, *words: str, matcher: str = "") -> dict[str, Any]:
    return hook_group(launcher.sourced_line(PROGRAM, event, *words), limit, matcher=matcher)


def is_reviewed(workspace: Workspace) -> bool:
    """Nothing that could be read says that the user has to allow hooks first."""
    return True


def notes(workspace: Workspace) -> list[str]:
    found = [path for path in _settings_files(workspace) if _has(path, ORIGINALS)]
    return [
        f"{path} runs the CCC project's own stop handler: two loops would drive the agent. "
        "Take one of them out."
        for path in found
    ]


def _settings_files(workspace: Workspace) -> list[str]:
    project = os.path.join(workspace.root, ".claude")
    folders = [
        (home(), "settings.json"),
        (project, "settings.json"),
        (project, "settings.local.json"),
    ]
    plugins = os.path.join(home(), "plugins", "cache", "*", "*", "*", "hooks", "hooks.json")
    return [*(os.path.join(folder, name) for folder, name in folders), *sorted(glob(plugins))]


def _has(path: str, text: str) -> bool:
    try:
        return text in read_plain(path).decode(errors="replace")
    except OSError:
        return False
