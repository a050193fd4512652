"""Claude Code: `.claude/settings.local.json`, which git does not see, and the project's `.mcp.json`."""

from __future__ import annotations

import os

from holdfast.clients.settings.json_part import JsonPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

PROGRAM = "claude"
SETTINGS = os.path.join(".claude", "settings.local.json")
# Event, and the seconds that Claude Code may wait for us. Without more, a session's end has 1.5 s.
EVENTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PreToolUse": 10,
    "PostToolUse": 10,
    "PreCompact": 20,
    "Stop": 20,
    "SessionEnd": 5,
}
# The stop handler of the CCC project itself: two loops would drive the agent on.
ORIGINALS = "ccc-stop-handler"


def home() -> str:
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def parts(workspace: Workspace, command: Callable[..., list[str]], server: list[str]) -> list[Part]:
    groups = {
        event: {"hooks": [_handler(command(PROGRAM, event), limit)]}
        for event, limit in EVENTS.items()
    }
    status_line = {"type": "command", "command": _quoted(command("statusline"))}
    approved = [(["enabledMcpjsonServers"], "holdfast")] if server else []
    found: list[Part] = [
        JsonPart(
            os.path.join(workspace.root, SETTINGS),
            hooks=groups,
            members=[(["statusLine"], status_line)],
            items=approved,
        )
    ]
    if server:
        entry = {"command": server[0], "args": server[1:]}
        path = os.path.join(workspace.root, ".mcp.json")
        found.append(JsonPart(path, members=[(["mcpServers", "holdfast"], entry)]))
    return found


def _handler(words: list[str], limit: int) -> dict[str, Any]:
    """The form without a shell: no quoting of this machine's paths can go wrong."""
    return {"type": "command", "command": words[0], "args": words[1:], "timeout": limit}


def _quoted(words: list[str]) -> str:
    import shlex

    return shlex.join(words)


def notes(workspace: Workspace) -> list[str]:
    found = [path for path in _settings_files(workspace) if _has(path, ORIGINALS)]
    return [
        f"{path} runs the CCC project's own stop handler: two loops would drive the agent. "
        "Take one of them out."
        for path in found
    ]


def _settings_files(workspace: Workspace) -> list[str]:
    from glob import glob

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
        with open(path, encoding="utf-8", errors="replace") as file:
            return text in file.read()
    except OSError:
        return False
