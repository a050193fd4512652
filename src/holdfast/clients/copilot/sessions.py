"""Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, whose first line names the folder."""

from __future__ import annotations

import os

from holdfast.clients.discovery import found_session, newest_first, paths_matching, source_of
from holdfast.clients.lines import first_record
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Source

FOLDER, FILE = "session-state", "events.jsonl"
FIRST = "session.start"


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    files = paths_matching(home_of("copilot"), f"{FOLDER}/*/{FILE}")
    for modified, path in newest_first(files):
        found = session_at(path, modified)
        if found["cwd"] and place.holds(found["cwd"]):
            yield found


def find(session: str) -> list[Source]:
    path = os.path.join(home_of("copilot"), FOLDER, session, FILE)
    return of_path(path) if os.path.isfile(path) else []


def of_path(path: str) -> list[Source]:
    return [source_of("copilot", os.path.basename(os.path.dirname(path)), path)]


def is_writer(record: dict[str, Any]) -> bool:
    return record.get("type") == FIRST and isinstance(record.get("data"), dict)


def session_at(path: str, modified: int) -> FoundSession:
    began = table_of(first_record(path).get("data"))
    session = text_of(began.get("sessionId")) or os.path.basename(os.path.dirname(path))
    cwd = text_of(table_of(began.get("context")).get("cwd"))
    return found_session("copilot", session, path, modified, cwd)


def is_of_subagent(record: dict[str, Any]) -> bool:
    data = table_of(record.get("data"))
    return bool(record.get("agentId") or data.get("agentId") or data.get("parentToolCallId"))
