"""Qwen Code: the project's `.qwen/settings.json`, hooks and server in one file. Comments may be in it."""

from __future__ import annotations

import os

from holdfast.clients.settings.parts import hooks_and_server
from holdfast.clients.table import home_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

PROGRAM = "qwen"
# The version that these hooks were seen to run in; older ones were not tried.
OLDEST = "0.24.0"
# What a user has to do before hooks run.
REVIEW = ""
# Event, and the seconds that Qwen Code may wait for us.
EVENTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PreToolUse": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "PermissionRequest": 10,
    "Notification": 10,
    "StopFailure": 10,
    "PreCompact": 20,
    "Stop": 20,
    "SessionEnd": 5,
}


def home() -> str:
    return home_of(PROGRAM)


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    path = os.path.join(workspace.root, ".qwen", "settings.json")
    return [hooks_and_server(path, PROGRAM, EVENTS, server)]


def is_reviewed(workspace: Workspace) -> bool:
    """Nothing that could be read says that the user has to allow hooks first."""
    return True


def notes(workspace: Workspace) -> list[str]:
    return ["Qwen Code reads a project's settings only in a folder that you trust."]
