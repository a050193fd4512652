"""Codex: Claude Code's form, each event with a schema of its own that refuses what it does not know."""

from __future__ import annotations

from holdfast.clients.events import SHARED_EVENTS, read_event
from holdfast.clients.events import answer as answer_of_claude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome

NAME = "codex"
OBEYS_CHOICES = False
EVENTS = SHARED_EVENTS


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    return read_event(EVENTS, name, payload)


def length(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    if event.name == "SessionEnd":
        return {}
    if event.name == "PreToolUse" and "halt" in outcome:
        # Here `continue` or `stopReason` makes the whole answer void, and the tool would be used.
        outcome = outcome.copy()
        del outcome["halt"]
    return answer_of_claude(event, outcome)
