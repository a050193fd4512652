"""Claude Code: one JSON object on standard output, or nothing."""

from __future__ import annotations

import os

from holdfast.clients.events import SHARED_EVENTS, read_event
from holdfast.clients.events import answer as answer
from holdfast.clients.events import length as length
from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, Means

NAME = "claude"
# A person sits at the terminal.
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"
OBEYS_CHOICES = True
EVENTS: dict[str, Means] = {
    **SHARED_EVENTS,
    **dict.fromkeys(("Notification", "Elicitation", "StopFailure"), "waits"),
}
# Behind an event's name in settings that an older `init --http` wrote: nothing runs after a tool there.
UNWATCHED = "unwatched"
UNWATCHED_AFTER = 2 * clock.MINUTE


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    name, _, word = name.partition(" ")
    event = read_event(EVENTS, name, payload)
    event.looks_after = UNWATCHED_AFTER if word == UNWATCHED else 0
    # `claude -p` and the Agent SDK show none, and a subagent's comes after the hook.
    event.has_dialogue_beside = os.environ.get(ATTENDED) == "1" and not payload.get("agent_id")
    return event
