"""Claude Code: one JSON object on standard output, or nothing."""

from __future__ import annotations

from holdfast.clients.events import common
from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome, Means

NAME = "claude"
EVENTS: dict[str, Means] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "tool",
    "PostToolUse": "used",
    "PostToolUseFailure": "used",
    "PreCompact": "compacting",
    "Stop": "stop",
    "SessionEnd": "end",
    **dict.fromkeys(
        (
            *("PostToolBatch", "PostCompact", "StopFailure", "SubagentStart", "SubagentStop"),
            *("Notification", "Elicitation", "ElicitationResult", "UserPromptExpansion"),
            *("PreModelSwitch", "PostModelSwitch", "PermissionRequest", "PermissionDenied"),
            *("Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "ConfigChange"),
            *("WorktreeCreate", "WorktreeRemove", "InstructionsLoaded", "CwdChanged"),
            *("FileChanged", "DirectoryAdded", "MessageDisplay"),
        ),
        "nothing",
    ),
}
# Of 10,000 characters on, all but the first 2,000 stand in a file that nobody reads.
LONGEST_CONTEXT = 9_500
ALONE = True
KEEPS_COMMANDS = True
# Behind an event's name in settings that an older `init --http` wrote: nothing runs after a tool there.
UNWATCHED = "unwatched"
UNWATCHED_AFTER = 2 * clock.MINUTE
_WITH_CONTEXT = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure")


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    name, _, word = name.partition(" ")
    event = common(name, EVENTS.get(name, "unknown"), payload)
    event.looks_after = UNWATCHED_AFTER if word == UNWATCHED else 0
    return event


def length(text: str) -> int:
    """Its characters are JavaScript's: those beyond 16 bits are two."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    said: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if outcome.get("context") and event.name in _WITH_CONTEXT:
        specific["additionalContext"] = outcome["context"]
    if "deny" in outcome:
        specific["permissionDecision"] = "deny"
        specific["permissionDecisionReason"] = outcome["deny"]
    if specific:
        said["hookSpecificOutput"] = {"hookEventName": event.name, **specific}
    if "prompt" in outcome:
        said["decision"], said["reason"] = "block", outcome["prompt"]
    if outcome.get("tell"):
        said["systemMessage"] = outcome["tell"]
    if "halt" in outcome:
        said["continue"], said["stopReason"] = False, outcome["halt"]
        said["systemMessage"] = outcome["halt"]
    return said
