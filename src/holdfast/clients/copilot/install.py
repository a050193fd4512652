"""Copilot CLI: `.github/copilot/settings.local.json`, which is one person's, and `.github/mcp.json`.

Copilot also runs the hooks in `.claude/settings.local.json`. Where both name us, these here count.
"""

from __future__ import annotations

import os

from holdfast.clients import launcher
from holdfast.clients.settings.files import Part
from holdfast.clients.settings.parts import JsonPart, hook_groups, server_entry, with_seconds
from holdfast.clients.table import CLIENTS, home_of
from holdfast.kernel.workspace import Workspace

SETTINGS, SERVERS = CLIENTS["copilot"].files
EVENTS = with_seconds(
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PermissionRequest "
    "Notification PreCompact Stop SessionEnd"
)


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    # Without a matcher: with an empty one Copilot runs no hook of a tool.
    groups = hook_groups("copilot", EVENTS)
    found: list[Part] = [JsonPart(os.path.join(workspace.root, SETTINGS), hooks=groups)]
    if server:
        entry = {"type": "local", **server_entry(server), "tools": ["*"]}
        path = os.path.join(workspace.root, SERVERS)
        found.append(JsonPart(path, members=[(["mcpServers", "holdfast"], entry)]))
    return found


def is_reviewed(workspace: Workspace) -> bool:
    """Whether the user trusts this folder: Copilot keeps those in a file that is its own."""
    config = os.path.join(home_of("copilot"), "config.json")
    return f'"{workspace.root}"' in launcher.content_of(config)


def notes(workspace: Workspace) -> list[str]:
    review = CLIENTS["copilot"].review
    found = [f"Copilot CLI runs no hook before you trust this folder. {review}"]
    servers = os.path.join(workspace.root, ".mcp.json")
    if os.path.exists(servers) and '"holdfast"' not in launcher.content_of(servers):
        found.append(
            f"Copilot CLI reads {servers} and not {SERVERS} where there are both. Put the entry "
            "`holdfast` into it, too: `holdfast init --client claude` does so."
        )
    return found
