"""opencode: its shim (`opencode.js`) asks in Claude Code's words, and does what one object says.

The names of opencode's own hooks are understood as well, with `input` and `output` as it has them.
"""

from __future__ import annotations

from holdfast.clients.events import SHARED_EVENTS, read_event
from holdfast.kernel import clock
from holdfast.kernel.canonical_json import table_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome, Means

NAME = "opencode"
OBEYS_CHOICES = True
EVENTS: dict[str, Means] = {
    **SHARED_EVENTS,
    "chat.message": "prompt",
    "tool.execute.before": "tool",
    "tool.execute.after": "used",
    # A person answered a permission or a question.
    "Answered": "used",
    **dict.fromkeys(("chat.params", "shell.env", "dispose"), "nothing"),
}
# One process of opencode's serves all its sessions.
SHARES_PROCESS = True


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    given, made = table_of(payload.get("input")), table_of(payload.get("output"))
    asked = {
        "session_id": given.get("sessionID"),
        "cwd": given.get("cwd"),
        "tool_name": given.get("tool"),
        "tool_input": given.get("args") or made.get("args"),
    }
    event = read_event(EVENTS, name, {**asked, **payload})
    event.looks_after = clock.MINUTE
    event.has_dialogue_beside = True  # its plugin does not wait
    return event


def length(text: str) -> int:
    return len(text)


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    said: dict[str, Any] = {
        key: said
        for key, said in outcome.items()
        if key in ("context", "deny", "prompt", "permit") and said
    }
    if "halt" in outcome:
        # There is no word for it: the tools are denied, and the stop is let through.
        said["context"] = outcome["halt"]
    return said
