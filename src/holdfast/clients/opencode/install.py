"""opencode: a plugin of its own in `.opencode/plugins/`, and the server in `opencode.json`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from holdfast.clients import launcher
from holdfast.clients.settings.files import Part, Put, not_settings
from holdfast.clients.settings.parts import JsonPart, programs_of, with_seconds
from holdfast.clients.table import CLIENTS
from holdfast.kernel.workspace import Workspace

# What its shim tells us of.
EVENTS = with_seconds(
    "SessionStart UserPromptSubmit PreToolUse PreCompact Stop SessionEnd PermissionRequest Answered"
)
PLUGIN, SETTINGS, SETTINGS_WITH_COMMENTS = CLIENTS["opencode"].files
MARK = "// Holdfast in opencode"
# The line of the shim that says how to start a hook, wherever holdfast is on the path.
_BEGIN = "const COMMAND = "
_COMMAND = f'{_BEGIN}["holdfast", "hook"]'


@dataclass(frozen=True)
class PluginPart:
    """The plugin's file, which is ours altogether. `MARK` stands in every version of it; a file without it
    is not ours."""

    path: str

    def put(self, text: str) -> Put:
        if text and MARK not in text:
            raise not_settings(self.path, "is there already, and not ours")
        return {"text": _shim(launcher.command()), "pieces": [], "notes": []}

    def has_ours(self, text: str) -> bool:
        return MARK in text

    def take(self, text: str) -> str:
        return "" if MARK in text else text

    def programs(self, text: str) -> list[str]:
        line = next((one for one in text.splitlines() if one.startswith(_BEGIN)), "")
        try:
            return programs_of(json.loads(line.removeprefix(_BEGIN))) if MARK in text else []
        except ValueError:
            return []


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    found: list[Part] = [PluginPart(os.path.join(workspace.root, PLUGIN))]
    if server:
        entry = {"type": "local", "command": server, "enabled": True}
        found.append(JsonPart(_settings(workspace), members=[(["mcp", "holdfast"], entry)]))
    return found


def _shim(words: list[str]) -> str:
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(folder, "hooks", "opencode.js"), encoding="utf-8") as file:
        text = file.read()
    if text.count(_COMMAND) != 1:
        raise RuntimeError("opencode.js does not say how it starts a hook")
    return text.replace(_COMMAND, f"{_BEGIN}{json.dumps(words)}")


def _settings(workspace: Workspace) -> str:
    """The file that is there, or the plain one."""
    with_comments = os.path.join(workspace.root, SETTINGS_WITH_COMMENTS)
    if os.path.exists(with_comments):
        return with_comments
    return os.path.join(workspace.root, SETTINGS)


def notes(workspace: Workspace) -> list[str]:
    return []
