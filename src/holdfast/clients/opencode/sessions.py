"""opencode: all sessions in one database; before 1.2 a file for each."""

from __future__ import annotations

import os

from holdfast.clients.discovery import (
    MOST_FILES,
    entries_of,
    found_session,
    newest_first,
)
from holdfast.clients.lines import Unread, read_object
from holdfast.clients.opencode import transcript
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    known: set[str] = set()
    for path in transcript.databases():
        for session in _in_database(path, place):
            known.add(session["session"])
            yield session
    for session in _in_files(place):
        if session["session"] not in known:
            yield session


def _in_database(path: str, place: SessionPlace | None) -> Iterator[FoundSession]:
    """The sessions of a database, without those that another session started."""
    try:
        with transcript.opened(path) as store:
            rows = store.ask(
                "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL "
                "ORDER BY time_updated DESC, id DESC LIMIT ?",
                (MOST_FILES,),
            )
    except Unread:
        return
    for id, cwd, updated in rows:
        is_sound = isinstance(id, str) and isinstance(cwd, str) and isinstance(updated, int)
        if is_sound and (place is None or place.holds(cwd)):
            yield found_session("opencode", id, path, updated, cwd)


def _in_files(place: SessionPlace) -> Iterator[FoundSession]:
    """Before 1.2: `storage/session/<project>/<session>.json`."""
    storage = os.path.join(transcript.data_folder(), "storage", "session")
    files = [
        entry
        for project in entries_of(storage)
        for entry in entries_of(project.path)
        if entry.name.startswith("ses_") and entry.name.endswith(".json")
    ]
    for modified, path in newest_first(files):
        record = read_object(path)
        cwd, id = text_of(record.get("directory")), text_of(record.get("id"))
        if id and cwd and not record.get("parentID") and place.holds(cwd):
            updated = table_of(record.get("time")).get("updated")
            when = updated if isinstance(updated, int) else modified
            yield found_session("opencode", id, path, when, cwd)


def is_writer(record: dict[str, Any]) -> bool:
    """No line is: it keeps its sessions in a database."""
    return False


def session_at(path: str, modified: int) -> FoundSession | None:
    """The newest session in a database."""
    return next(_in_database(path, None), None)
