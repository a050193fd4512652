"""Copilot CLI: `.github/copilot/settings.local.json`, which is one person's, and `.github/mcp.json`.

Copilot also runs the hooks in `.claude/settings.local.json`. Where both name us, these here count.
"""

from __future__ import annotations

import os

from holdfast.clients import launcher
from holdfast.clients.settings.parts import JsonPart, hook_group
from holdfast.clients.table import home_of
from holdfast.kernel.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

PROGRAM = "copilot"
# The version that these hooks were seen to run in; older ones were not tried.
OLDEST = "1.0.100"
# What a user has to do before hooks run.
REVIEW = (
    "Start copilot in this folder and trust the folder. `copilot -p` runs hooks in trusted folders, and "
    "elsewhere with GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS=true."
)
SETTINGS = os.path.join(".github", "copilot", "settings.local.json")
SERVERS = os.path.join(".github", "mcp.json")
# Event, and the seconds that Copilot may wait for us.
EVENTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PreToolUse": 10,
    "PostToolUse": 10,
    "PermissionRequest": 10,
    "Notification": 10,
    "PreCompact": 20,
    "Stop": 20,
    "SessionEnd": 5,
}


def home() -> str:
    return home_of(PROGRAM)


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    # Without a matcher: with an empty one Copilot runs no hook of a tool.
    groups = {
        event: [hook_group(launcher.sourced_line(PROGRAM, event), limit)]
        for event, limit in EVENTS.items()
    }
    found: list[Part] = [JsonPart(os.path.join(workspace.root, SETTINGS), hooks=groups)]
    if server:
        entry = {"type": "local", "command": server[0], "args": server[1:], "tools": ["*"]}
        path = os.path.join(workspace.root, SERVERS)
        found.append(JsonPart(path, members=[(["mcpServers", "holdfast"], entry)]))
    return found


def is_installed(root: str) -> bool:
    """Whether Copilot's own settings in a worktree start our hooks."""
    try:
        return launcher.NAME in read_plain(os.path.join(root, SETTINGS)).decode(errors="replace")
    except OSError:
        return False


def is_reviewed(workspace: Workspace) -> bool:
    """Whether the user trusts this folder: Copilot keeps those in a file that is its own."""
    try:
        text = read_plain(os.path.join(home(), "config.json")).decode()
    except (OSError, UnicodeDecodeError):
        return False
    return f'"{workspace.root}"' in text


def notes(workspace: Workspace) -> list[str]:
    found = [f"Copilot CLI runs no hook before you trust this folder. {REVIEW}"]
    servers = os.path.join(workspace.root, ".mcp.json")
    if os.path.exists(servers) and not _names_us(servers):
        found.append(
            f"Copilot CLI reads {servers} and not {SERVERS} where there are both. Put the entry "
            "`holdfast` into it, too: `holdfast init --client claude` does so."
        )
    return found


def _names_us(path: str) -> bool:
    try:
        return b'"holdfast"' in read_plain(path)
    except OSError:
        return False
