"""Gemini CLI: the project's `.gemini/settings.json`, hooks and server in one file. Comments may be in it."""

from __future__ import annotations

import os

from holdfast.clients.settings.parts import hooks_and_server
from holdfast.clients.table import home_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.settings.files import Part
    from holdfast.kernel.workspace import Workspace

PROGRAM = "gemini"
# The first version in which hooks are on without a setting.
OLDEST = "0.26.0"
# What a user has to do before hooks run.
REVIEW = ""
SECOND = 1000  # Gemini counts milliseconds
EVENTS = {
    "SessionStart": 10 * SECOND,
    "BeforeAgent": 10 * SECOND,
    "BeforeTool": 10 * SECOND,
    "AfterTool": 10 * SECOND,
    "Notification": 10 * SECOND,
    "PreCompress": 20 * SECOND,
    "AfterAgent": 20 * SECOND,
    "SessionEnd": 5 * SECOND,
}


def home() -> str:
    return home_of(PROGRAM)


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    path = os.path.join(workspace.root, ".gemini", "settings.json")
    return [hooks_and_server(path, PROGRAM, EVENTS, server)]


def is_reviewed(workspace: Workspace) -> bool:
    """Nothing that could be read says that the user has to allow hooks first."""
    return True


def notes(workspace: Workspace) -> list[str]:
    return ["Gemini CLI asks you once whether this project's hooks may run."]
