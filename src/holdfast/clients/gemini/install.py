"""Gemini CLI: the project's `.gemini/settings.json`, hooks and server in one file. Comments may be in it."""

from __future__ import annotations

from holdfast.clients.settings.files import Part
from holdfast.clients.settings.parts import hooks_and_server, with_seconds
from holdfast.kernel.workspace import Workspace

_SECONDS = with_seconds(
    "SessionStart BeforeAgent BeforeTool AfterTool Notification PreCompress AfterAgent SessionEnd"
)
# Gemini counts milliseconds.
EVENTS = {event: 1000 * seconds for event, seconds in _SECONDS.items()}


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    return [hooks_and_server(workspace, "gemini", EVENTS, server)]


def notes(workspace: Workspace) -> list[str]:
    return ["Gemini CLI asks you once whether this project's hooks may run."]
