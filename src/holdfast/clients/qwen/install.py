"""Qwen Code: the project's `.qwen/settings.json`, hooks and server in one file. Comments may be in it."""

from __future__ import annotations

from holdfast.clients.settings.files import Part
from holdfast.clients.settings.parts import hooks_and_server, with_seconds
from holdfast.kernel.workspace import Workspace

EVENTS = with_seconds(
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure "
    "PermissionRequest Notification StopFailure PreCompact Stop SessionEnd"
)


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    return [hooks_and_server(workspace, "qwen", EVENTS, server)]


def notes(workspace: Workspace) -> list[str]:
    return ["Qwen Code reads a project's settings only in a folder that you trust."]
