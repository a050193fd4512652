"""Qwen Code: Claude Code's events and answers. It shows no `<` of a context to the model as it is."""

from __future__ import annotations

from holdfast.clients.events import SHARED_EVENTS, read_event, text_of
from holdfast.clients.events import answer as answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, Means

NAME = "qwen"
OBEYS_CHOICES = False
EVENTS: dict[str, Means] = {
    **SHARED_EVENTS,
    **dict.fromkeys(("Notification", "StopFailure"), "waits"),
}


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    event = read_event(EVENTS, name, payload)
    if name == "UserPromptSubmit" and not text_of(payload, "prompt"):
        event.means = "nothing"  # it says so after every tool, too, when no person asked
    return event


def length(text: str) -> int:
    """`<` and `>` come as `&lt;` and `&gt;`."""
    return len(text) + 3 * (text.count("<") + text.count(">"))
