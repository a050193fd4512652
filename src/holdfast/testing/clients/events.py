"""The payloads of clients' hooks, and what each client reads of an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.clients.table import NAMES, part
from holdfast.hooks.run import respond_to


def _named(means: str) -> dict[str, str]:
    """The event of each client that means this; the first, where several do."""
    events = {client: part(client, "events").EVENTS for client in NAMES}
    return {
        client: next(name for name, meaning in known.items() if meaning == means)
        for client, known in events.items()
    }


START, PROMPT, TOOL, USED = _named("start"), _named("prompt"), _named("tool"), _named("used")
STOP, END = _named("stop"), _named("end")


def list_payloads(folder: Path) -> list[tuple[str, str, str]]:
    """Return each payload: the client, its event, and the file's name."""
    found = []
    for path in sorted(folder.glob("*.json")):
        client, _, rest = path.stem.partition(".")
        if rest == "statusline":
            continue
        event = rest if client == "opencode" else rest.partition(".")[0]
        found.append((client, event, path.stem))
    return found


def read_payload(path: Path, **changes: object) -> dict[str, Any]:
    """Return a payload as of the current folder."""
    value = json.loads(path.read_text("utf-8"))
    assert isinstance(value, dict)
    return {**value, "cwd": str(Path.cwd()), **changes}


def given(**facts: object) -> dict[str, Any]:
    return {"session_id": "s1", "cwd": str(Path.cwd()), **facts}


def ask(client: str, event: str, **facts: object) -> dict[str, Any]:
    """What a client is answered, in this process; it must be what that client reads."""
    answer = respond_to(client, event, given(**facts), may_leave=False)
    refuse_unreadable(client, event, answer)
    return answer


# What each client reads, after its own schema or documentation

Keys = dict[str, type]
_UNIVERSAL: Keys = {"continue": bool, "stopReason": str, "systemMessage": str}
_BLOCK: Keys = {"decision": str, "reason": str}
_CONTEXT: Keys = {"hookEventName": str, "additionalContext": str}
_PERMISSION: Keys = {
    "hookEventName": str,
    "permissionDecision": str,
    "permissionDecisionReason": str,
    "additionalContext": str,
}
# Codex refuses an answer with any other key: event, keys, and the keys of `hookSpecificOutput`.
_CODEX: dict[str, tuple[Keys, Keys]] = {
    "SessionStart": (_UNIVERSAL, _CONTEXT),
    "UserPromptSubmit": ({**_UNIVERSAL, **_BLOCK}, _CONTEXT),
    # `continue` and `stopReason` are in the schema, and make the whole answer void.
    "PreToolUse": ({"systemMessage": str}, _PERMISSION),
    "PostToolUse": ({**_UNIVERSAL, **_BLOCK}, _CONTEXT),
    "PreCompact": (_UNIVERSAL, {}),
    "Stop": ({**_UNIVERSAL, **_BLOCK}, {}),
}
_CLAUDE: dict[str, tuple[Keys, Keys]] = {
    **_CODEX,
    "PreToolUse": (_UNIVERSAL, _PERMISSION),
    "PostToolUseFailure": (_UNIVERSAL, _CONTEXT),
    "SessionEnd": (_UNIVERSAL, {}),
}
_GEMINI: dict[str, tuple[Keys, Keys]] = {
    "SessionStart": ({"systemMessage": str}, _CONTEXT),
    "BeforeAgent": ({**_UNIVERSAL, **_BLOCK}, _CONTEXT),
    "BeforeTool": ({**_UNIVERSAL, **_BLOCK}, {}),
    "AfterTool": ({**_UNIVERSAL, **_BLOCK}, _CONTEXT),
    "AfterAgent": ({**_UNIVERSAL, **_BLOCK}, {}),
    "PreCompress": ({"systemMessage": str}, {}),
    "SessionEnd": ({"systemMessage": str}, {}),
}
_OPENCODE: Keys = {"context": str, "deny": str, "prompt": str}
# Copilot CLI reads Claude Code's answers in Claude Code's settings, and in its own the same without frame.
_COPILOT = {
    event: (
        {**keys, **{name: kind for name, kind in specific.items() if name != "hookEventName"}},
        specific,
    )
    for event, (keys, specific) in _CLAUDE.items()
}
# Of each client that does not read what Claude Code reads.
READS = {"codex": _CODEX, "gemini": _GEMINI, "copilot": _COPILOT}


def refuse_unreadable(client: str, event: str, answer: dict[str, Any]) -> None:
    """Fail when a client would not understand an answer."""
    if client == "opencode":
        _has_only(answer, _OPENCODE)
        return
    keys, specific = READS.get(client, _CLAUDE).get(event, ({}, {}))
    _has_only(answer, {**keys, **({"hookSpecificOutput": dict} if specific else {})})
    if "hookSpecificOutput" in answer:
        _has_only(answer["hookSpecificOutput"], specific)
        assert answer["hookSpecificOutput"]["hookEventName"] == event
    if "decision" in answer:
        assert answer["decision"] == ("deny" if client == "gemini" else "block")
        assert answer["reason"].strip()


def _has_only(value: dict[str, Any], known: Keys) -> None:
    for name, item in value.items():
        assert name in known, f"{name} of {value}"
        assert isinstance(item, known[name]), f"{name} of {value}"


def denied(client: str, answer: dict[str, Any]) -> str:
    """Why a tool may not be used, in the words that the client passes on; empty when it may."""
    if client not in ("gemini", "opencode"):
        specific = answer.get("hookSpecificOutput", {})
        is_denied = specific.get("permissionDecision") == "deny"
        return str(specific["permissionDecisionReason"]) if is_denied else ""
    if client == "gemini":
        return str(answer["reason"]) if answer.get("decision") == "deny" else ""
    return str(answer.get("deny", ""))


def driven(client: str, answer: dict[str, Any]) -> str:
    """What the agent reads instead of stopping; empty when it may stop."""
    if client == "opencode":
        return str(answer.get("prompt", ""))
    return str(answer["reason"]) if "decision" in answer else ""


def context(client: str, answer: dict[str, Any]) -> str:
    if client == "opencode":
        return str(answer.get("context", ""))
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
