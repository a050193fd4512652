"""opencode: a plugin of its own in `.opencode/plugins/`, and the server in `opencode.json`."""

from __future__ import annotations

import json
import os

from holdfast.clients import launcher
from holdfast.clients.settings.files import not_settings
from holdfast.clients.settings.parts import JsonPart, programs_of
from holdfast.clients.table import CLIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.clients.settings.files import Part, Put
    from holdfast.kernel.workspace import Workspace

# What its shim tells us of.
EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PreCompact", "Stop", "SessionEnd"),
    *("PermissionRequest", "Answered"),
)
PLUGIN, SETTINGS, SETTINGS_WITH_COMMENTS = CLIENTS["opencode"].files
MARK = "// Holdfast in opencode"
# The line of the shim that says how to start a hook, wherever holdfast is on the path.
_BEGIN = "const COMMAND = "
_COMMAND = f'{_BEGIN}["holdfast", "hook"]'


class WholePart:
    """A file that is ours altogether. `mark` stands in every version of it; a file without it is not ours."""

    def __init__(
        self, path: str, content: str, mark: str, programs: Callable[[str], list[str]]
    ) -> None:
        self.path = path
        self._content = content
        self._mark = mark
        self._programs = programs

    def put(self, text: str) -> Put:
        if text and self._mark not in text:
            raise not_settings(self.path, "is there already, and not ours")
        return {"text": self._content, "pieces": [], "notes": []}

    def has_ours(self, text: str) -> bool:
        return self._mark in text

    def take(self, text: str) -> str:
        return "" if self._mark in text else text

    def programs(self, text: str) -> list[str]:
        return self._programs(text) if self._mark in text else []


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    found: list[Part] = [
        WholePart(os.path.join(workspace.root, PLUGIN), _shim(launcher.command()), MARK, _programs),
    ]
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


def _programs(text: str) -> list[str]:
    for line in text.splitlines():
        if line.startswith(_BEGIN):
            try:
                return programs_of(json.loads(line.removeprefix(_BEGIN)))
            except ValueError:
                return []
    return []


def _settings(workspace: Workspace) -> str:
    """The file that is there, or the plain one."""
    with_comments = os.path.join(workspace.root, SETTINGS_WITH_COMMENTS)
    if os.path.exists(with_comments):
        return with_comments
    return os.path.join(workspace.root, SETTINGS)


def notes(workspace: Workspace) -> list[str]:
    return []
