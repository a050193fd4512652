"""Qwen Code: `~/.qwen/projects/<the folder's path>/chats/<session>.jsonl`.

An answer's line has its tokens, and an error of the model's API a line of its own.
"""

from __future__ import annotations

import os

from holdfast.clients.claude.sessions import (
    cwd_of,
    filed_in_project,
    find_in_projects,
    sessions_in_projects,
)
from holdfast.clients.discovery import found_session, source_of
from holdfast.clients.usage.model import count, new_context, new_limit, new_message
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Found, Source, UsageLimit


FILES = "chats/*.jsonl"


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    return sessions_in_projects("qwen", place, FILES)


def filed_under(folder: str) -> Iterator[FoundSession]:
    return filed_in_project("qwen", folder, FILES)


def find(session: str) -> list[Source]:
    path = find_in_projects("qwen", os.path.join("chats", f"{session}.jsonl"))
    return of_path(path) if path else []


def of_path(path: str) -> list[Source]:
    return [source_of("qwen", os.path.basename(path).removesuffix(".jsonl"), path)]


def is_writer(record: dict[str, Any]) -> bool:
    message = record.get("message")
    is_message = isinstance(message, dict) and isinstance(message.get("parts"), list)
    is_ours = is_message or "systemPayload" in record
    return is_ours and bool(text_of(record.get("sessionId")) and text_of(record.get("uuid")))


def session_at(path: str, modified: int) -> FoundSession:
    session = os.path.basename(path).removesuffix(".jsonl")
    return found_session("qwen", session, path, modified, cwd_of(path))


# What the lines say of spending

TELLING = (b'"usageMetadata":', b"qwen-code.api_error")


def glance(line: bytes, state: dict[str, Any], found: Found) -> None:
    if b'"sessionId":' in line[:300]:
        found.known += 1


def parse(record: dict[str, Any], source: Source, state: dict[str, Any], found: Found) -> None:
    """One answer, or an error of the model's API."""
    found.known += 1
    at = text_of(record.get("timestamp"))
    found.started_at = found.started_at or at
    event = table_of(table_of(record.get("systemPayload")).get("uiEvent"))
    if event:
        if text_of(event.get("event.name")).endswith("api_error"):
            id = text_of(record.get("uuid")) or at
            found.errors[id] = (
                text_of(event.get("error_message")) or text_of(event.get("error")) or "error"
            )
        return
    usage = record.get("usageMetadata")
    if not isinstance(usage, dict):
        return
    answer = new_message(text_of(record.get("uuid")) or at, at, text_of(record.get("model")))
    asked = count(usage.get("promptTokenCount"))
    cached = count(usage.get("cachedContentTokenCount"))
    total = count(usage.get("totalTokenCount"))
    answer["input"] = max(0, asked - cached)
    # Some providers count the thoughts among the rest of an answer; the total says which.
    answer["output"] = max(count(usage.get("candidatesTokenCount")), total - asked)
    answer["cache_read"] = cached
    answer["counted"] = True
    found.messages[answer["id"]] = answer
    found.context = new_context(at, total, answer["model"])


def limit_of(record: dict[str, Any]) -> UsageLimit | bool | None:
    if record.get("type") != "system":
        return False if record.get("type") in ("user", "assistant") else None
    event = table_of(table_of(record.get("systemPayload")).get("uiEvent"))
    name = text_of(event.get("event.name"))
    if not name.endswith(("api_error", "api_response")):
        return None
    if event.get("status_code") != 429:
        return False
    return new_limit(text_of(event.get("error_message")), text_of(record.get("timestamp")))
