"""Lines as the clients write them, made by hand."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from holdfast.clients import conversation
from holdfast.clients.conversation import SessionEvent

CWD = "/home/dev/shop"
AT = "2026-11-16T10:00:00.000Z"


def packed(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def claude(kind: str, content: Any, **more: Any) -> bytes:
    message = {"role": kind, "id": more.pop("message_id", "msg_1"), "content": content}
    return packed(
        {
            "isSidechain": False,
            "cwd": CWD,
            "type": kind,
            "message": message,
            "timestamp": AT,
            **more,
        }
    )


def call(id: str, name: str, **given: Any) -> bytes:
    return claude("assistant", [{"type": "tool_use", "id": id, "name": name, "input": given}])


def result(id: str, text: str, *, failed: bool = False, **more: Any) -> bytes:
    block = {"tool_use_id": id, "type": "tool_result", "content": text, "is_error": failed}
    return claude("user", [block], **more)


def codex(kind: str, **payload: Any) -> bytes:
    return packed({"timestamp": AT, "type": kind, "payload": payload})


def item(kind: str, **payload: Any) -> bytes:
    return codex("response_item", type=kind, **payload)


def function(id: str, name: str, **given: Any) -> bytes:
    return item("function_call", name=name, arguments=json.dumps(given), call_id=id)


def output(id: str, text: Any) -> bytes:
    return item("function_call_output", call_id=id, output=text)


def events_of(transcript: ModuleType, *lines: bytes, size: int = 0) -> list[SessionEvent]:
    return list(conversation.read(transcript, lines, conversation.new_state(), size=size))


def kinds(events: list[SessionEvent]) -> list[str]:
    return [event.kind for event in events if event.kind != "place"]
