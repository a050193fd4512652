"""opencode: its shim (`opencode.js`) asks in Claude Code's words, and does what one object says.

The names of opencode's own hooks are understood as well, with `input` and `output` as it has them.
"""

from __future__ import annotations

from holdfast.clients.events import (
    SHARED_EVENTS,
    command_of,
    common,
    note_question,
    paths_of,
    text_of,
)
from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome, Means

NAME = "opencode"
EVENTS: dict[str, Means] = {
    **SHARED_EVENTS,
    "chat.message": "prompt",
    "tool.execute.before": "tool",
    "tool.execute.after": "used",
    "PermissionRequest": "waits",
    # A person answered a permission or a question.
    "Answered": "used",
    **dict.fromkeys(("chat.params", "shell.env", "dispose"), "nothing"),
}
LONGEST_CONTEXT = 9_500
# One process of opencode's serves all its sessions.
ALONE = False
KEEPS_COMMANDS = True


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    event = common(name, EVENTS.get(name, "unknown"), payload)
    given, made = payload.get("input"), payload.get("output")
    if isinstance(given, dict):
        event.session = event.session or text_of(given, "sessionID")
        event.folder = event.folder or text_of(given, "cwd")
        event.tool = event.tool or text_of(given, "tool")
        event.command = event.command or command_of(given.get("args"))
    if isinstance(made, dict):
        event.command = event.command or command_of(made.get("args"))
        event.paths = event.paths or paths_of(event.tool, made.get("args"))
    note_question(event, payload)
    event.looks_after = clock.MINUTE
    return event


def length(text: str) -> int:
    return len(text)


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if outcome.get("context"):
        said["context"] = outcome["context"]
    if "deny" in outcome:
        said["deny"] = outcome["deny"]
    if "prompt" in outcome:
        said["prompt"] = outcome["prompt"]
    if "halt" in outcome:
        # There is no word for it: the tools are denied, and the stop is let through.
        said["context"] = outcome["halt"]
    return said
