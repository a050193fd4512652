"""Claude Code: one JSON object on standard output, or nothing."""

from __future__ import annotations

from holdfast.clients.events import SHARED_EVENTS, read_event
from holdfast.clients.events import answer as answer
from holdfast.clients.events import length as length
from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, Means

NAME = "claude"
HAS_DIALOGUE_BESIDE, OBEYS_CHOICES = True, True
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
    return event
