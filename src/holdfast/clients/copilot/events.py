"""Copilot CLI: Claude Code's events and answers, and its own names for both.

It runs the hooks in Claude Code's settings too. `caller_of` finds out who calls.
"""

from __future__ import annotations

from holdfast.clients.events import SHARED_EVENTS, read_event
from holdfast.clients.events import answer as answer_of_claude
from holdfast.clients.events import length as length

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome, Means

NAME = "copilot"
OBEYS_CHOICES = False
EVENTS: dict[str, Means] = {**SHARED_EVENTS, "Notification": "waits"}
IS_SILENT_AFTER_COMPACTION = True


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    return read_event(EVENTS, name, payload)


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    """Claude Code's answer, and once more without the frame around it: which of the two is read depends
    on whose settings the hook stands in."""
    said = answer_of_claude(event, outcome)
    specific = said.get("hookSpecificOutput", {})
    bare = {name: specific[name] for name in specific if name != "hookEventName"}
    return {**said, **bare.pop("decision", {}), **bare}
