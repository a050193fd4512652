"""Gemini CLI: the project's `.gemini/settings.json`, hooks and server in one file. Comments may be in it."""

from __future__ import annotations

import os
import shlex

from holdfast.clients.settings.json_part import JsonPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

PROGRAM = "gemini"
SECOND = 1000  # Gemini counts milliseconds
EVENTS = {
    "SessionStart": 10 * SECOND,
    "BeforeAgent": 10 * SECOND,
    "BeforeTool": 10 * SECOND,
    "AfterTool": 10 * SECOND,
    "PreCompress": 20 * SECOND,
    "AfterAgent": 20 * SECOND,
    "SessionEnd": 5 * SECOND,
}


def home() -> str:
    return os.path.expanduser("~/.gemini")


def parts(workspace: Workspace, command: Callable[..., list[str]], server: list[str]) -> list[Part]:
    groups = {
        event: {
            "hooks": [
                {
                    "name": "holdfast",
                    "type": "command",
                    "command": shlex.join(command(PROGRAM, event)),
                    "timeout": limit,
                }
            ]
        }
        for event, limit in EVENTS.items()
    }
    entry = {"command": server[0], "args": server[1:]} if server else None
    path = os.path.join(workspace.root, ".gemini", "settings.json")
    members: list[tuple[list[str], object]] = [(["mcpServers", "holdfast"], entry)] if entry else []
    return [JsonPart(path, hooks=groups, members=members)]


def notes(workspace: Workspace) -> list[str]:
    return ["Gemini CLI asks you once whether this project's hooks may run."]
