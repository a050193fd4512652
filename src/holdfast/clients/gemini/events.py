"""Gemini CLI: names of its own, decisions at the top of the answer, and nothing but JSON."""

from __future__ import annotations

from holdfast.clients.events import one_line, read_event, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome, Means

NAME = "gemini"
EVENTS: dict[str, Means] = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "BeforeTool": "tool",
    "AfterTool": "used",
    # Before every call of the model, whether there is something to compress or not.
    "PreCompress": "may compact",
    "AfterAgent": "stop",
    "SessionEnd": "end",
    "Notification": "waits",
    **dict.fromkeys(("BeforeModel", "AfterModel", "BeforeToolSelection"), "nothing"),
}
# With `-p` it puts the context before the prompt, and reads `/ccc:go` behind it as plain text.
DROPS_COMMANDS = True
_WITH_CONTEXT = ("SessionStart", "BeforeAgent", "AfterTool")
# What these say of going on is not listened to.
_ADVISORY = ("SessionStart", "SessionEnd", "PreCompress")


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    event = read_event(EVENTS, name, payload)
    details = payload.get("details")
    if event.asks and isinstance(details, dict):
        event.asks = _permission(details) or event.asks
    return event


def _permission(details: dict[str, Any]) -> str:
    """What a permission is for: its message names the kind of tool alone."""
    command, file = text_of(details, "command"), text_of(details, "fileName")
    if command:
        return one_line(f"May a shell run: {command}?")
    return one_line(f"May {file} be changed?") if file else ""


def length(text: str) -> int:
    return len(text)


def answer(event: HookEvent, outcome: HookOutcome) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if outcome.get("context") and event.name in _WITH_CONTEXT:
        said["hookSpecificOutput"] = {
            "hookEventName": event.name,
            "additionalContext": outcome["context"],
        }
    if outcome.get("tell"):
        said["systemMessage"] = outcome["tell"]
    if "halt" in outcome:
        said["systemMessage"] = outcome["halt"]
        if event.name not in _ADVISORY:
            said["continue"], said["stopReason"] = False, outcome["halt"]
            said["reason"] = outcome["halt"]
    # Claude Code's `permissionDecision` means nothing here: the tool would be used.
    reason = outcome.get("deny") or outcome.get("prompt")
    if reason:
        said["decision"], said["reason"] = "deny", reason
    return said
