"""Codex: Claude Code's form, each event with a schema of its own that refuses what it does not know."""

from __future__ import annotations

from holdfast.clients.events import SHARED_EVENTS, common, note_question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome, Means

NAME = "codex"
EVENTS: dict[str, Means] = {
    **SHARED_EVENTS,
    "PermissionRequest": "waits",
    **dict.fromkeys(
        (
            *("PostCompact", "SubagentStart", "SubagentStop"),
            *("StopFailure", "Interrupt", "notify"),
        ),
        "nothing",
    ),
}
# 2,500 tokens, which Codex takes for four bytes each; the middle of more than that is cut out.
LONGEST_CONTEXT = 9_500
ALONE = True
KEEPS_COMMANDS = True
_WITH_CONTEXT = ("SessionStart", "UserPromptSubmit", "PostToolUse")
# Here `continue` or `stopReason` makes the whole answer void, and the tool would be used.
_WITHOUT_HALT = ("PreToolUse", "SessionEnd")


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    event = common(name, EVENTS.get(name, "unknown"), payload)
    note_question(event, payload)
    return event


def length(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if "deny" in outcome:
        said["hookSpecificOutput"] = {
            "hookEventName": event.name,
            "permissionDecision": "deny",
            "permissionDecisionReason": outcome["deny"],
        }
    elif outcome.get("context") and event.name in _WITH_CONTEXT:
        said["hookSpecificOutput"] = {
            "hookEventName": event.name,
            "additionalContext": outcome["context"],
        }
    if "prompt" in outcome:
        said["decision"], said["reason"] = "block", outcome["prompt"]
    if event.name == "SessionEnd":
        return {}
    if outcome.get("tell"):
        said["systemMessage"] = outcome["tell"]
    if "halt" in outcome and event.name not in _WITHOUT_HALT:
        said["continue"], said["stopReason"] = False, outcome["halt"]
        said["systemMessage"] = outcome["halt"]
    return said
