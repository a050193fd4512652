"""Qwen Code: `~/.qwen/projects/<the folder's path>/chats/<session>.jsonl`."""

from __future__ import annotations

import os

from holdfast.clients.claude.sessions import (
    cwd_of,
    filed_in_project,
    find_in_projects,
    sessions_in_projects,
)
from holdfast.clients.discovery import found_session, source_of
from holdfast.kernel.canonical_json import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Source


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
