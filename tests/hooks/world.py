"""What the tests of the clients' hooks share: payloads as the clients send them, and what each reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.clients.table import NAMES, part
from holdfast.hooks.run import command, respond_to
from holdfast.processes import relaunch
from tests import warm
from tests.hooks import entry_alone
from tests.hooks.in_process import respond_to_bytes

SAMPLES = Path(__file__).parent / "samples"
PATIENCE = 60.0  # seconds; a loaded machine is slow, not wrong

CLIENTS = NAMES


def _named(means: str) -> dict[str, str]:
    """The event of each client that means this; the first, where several do."""
    events = {client: part(client, "events").EVENTS for client in CLIENTS}
    return {
        client: next(name for name, meaning in known.items() if meaning == means)
        for client, known in events.items()
    }


START, PROMPT, TOOL, USED = _named("start"), _named("prompt"), _named("tool"), _named("used")
STOP, END = _named("stop"), _named("end")


def samples() -> list[tuple[str, str, str]]:
    """Each payload: the client, its event, and the file's name."""
    found = []
    for path in sorted(SAMPLES.glob("*.json")):
        client, _, rest = path.stem.partition(".")
        if rest == "statusline":
            continue
        event = rest if client == "opencode" else rest.partition(".")[0]
        found.append((client, event, path.stem))
    return found


def payload_of(stem: str, **changes: object) -> dict[str, Any]:
    value = json.loads((SAMPLES / f"{stem}.json").read_text("utf-8"))
    assert isinstance(value, dict)
    return {**value, "cwd": str(Path.cwd()), **changes}


def given(**facts: object) -> dict[str, Any]:
    return {"session_id": "s1", "cwd": str(Path.cwd()), **facts}


def ask(client: str, event: str, **facts: object) -> dict[str, Any]:
    """What a client is answered, in this process; it must be what that client reads."""
    answer = respond_to(client, event, given(**facts), may_leave=False)
    refuse_unreadable(client, event, answer)
    return answer


def send(
    client: str,
    event: str,
    payload: bytes | dict[str, Any],
    *,
    cold: bool = False,
    leaves: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """The same in a process of its own; `cold`: in the interpreter that the client starts. `leaves`: with
    the processes that the hook leaves behind, which a cold one always does."""
    content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    words = command(client, event)
    if not leaves and not cold:
        words = [sys.executable, entry_alone.__file__, client, event]
    start = subprocess.run if cold else warm.run
    return start(words, input=content, capture_output=True, timeout=PATIENCE)


def given_on_stdin(client: str, event: str, payload: bytes | dict[str, Any]) -> dict[str, Any]:
    """What a hook prints, from the bytes that a client writes, in this process. A session's end forks:
    it gets a process of its own."""
    if event == END[client]:
        return said(client, event, send(client, event, payload))
    content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    answer = respond_to_bytes(client, event, content)
    refuse_unreadable(client, event, answer)
    return answer


def said(client: str, event: str, done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout or b"{}")
    refuse_unreadable(client, event, answer)
    return dict(answer)


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
_READS = {
    "claude": _CLAUDE,
    "codex": _CODEX,
    "gemini": _GEMINI,
    "qwen": _CLAUDE,
    "copilot": _COPILOT,
    "cursor": _CLAUDE,
}
_REFUSALS = {client: "deny" if client == "gemini" else "block" for client in _READS}


def refuse_unreadable(client: str, event: str, answer: dict[str, Any]) -> None:
    """Fail when a client would not understand an answer."""
    if client == "opencode":
        _has_only(answer, _OPENCODE)
        return
    keys, specific = _READS[client].get(event, ({}, {}))
    _has_only(answer, {**keys, **({"hookSpecificOutput": dict} if specific else {})})
    if "hookSpecificOutput" in answer:
        _has_only(answer["hookSpecificOutput"], specific)
        assert answer["hookSpecificOutput"]["hookEventName"] == event
    if "decision" in answer:
        assert answer["decision"] == _REFUSALS[client]
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


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The words of the processes that hooks would leave behind; none is started."""
    found: list[list[str]] = []

    def leave(words: list[str]) -> bool:
        found.append(words)
        return True

    monkeypatch.setattr(relaunch, "leave", leave)
    return found
