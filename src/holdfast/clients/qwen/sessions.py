"""Qwen Code: `~/.qwen/projects/<the folder's path>/chats/<session>.jsonl`."""

from __future__ import annotations

import os

from holdfast.clients.claude.sessions import cwd_of, may_be_below, name_of
from holdfast.clients.discovery import entries_of, found_session, newest_first
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    """Projects have one folder each, named as Claude Code names them."""
    names = [name_of(path) for path in place.spellings]
    files = [
        entry
        for project in entries_of(os.path.join(home_of("qwen"), "projects"))
        if any(may_be_below(project.name, name) for name in names)
        for entry in entries_of(os.path.join(project.path, "chats"))
        if entry.name.endswith(".jsonl")
    ]
    for modified, path in newest_first(files):
        cwd = cwd_of(path)
        if cwd and place.holds(cwd):
            yield session_at(path, modified)


def is_writer(record: dict[str, Any]) -> bool:
    message = record.get("message")
    is_message = isinstance(message, dict) and isinstance(message.get("parts"), list)
    is_ours = is_message or "systemPayload" in record
    return is_ours and bool(text_of(record.get("sessionId")) and text_of(record.get("uuid")))


def session_at(path: str, modified: int) -> FoundSession:
    session = os.path.basename(path).removesuffix(".jsonl")
    return found_session("qwen", session, path, modified, cwd_of(path))
