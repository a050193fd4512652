"""What Holdfast keeps of sessions, to be read once a client has deleted their transcripts.

A file holds one session: a line that says which it is, then its events, compressed and without secrets. It lies in the
home of the journal that the session's folder belongs to, or in the user's data folder where there is none.
"""

from __future__ import annotations

import os

from holdfast.clients.conversation import COUNTED_CALL, SessionEvent
from holdfast.clients.discovery import SessionPlace, finder_of, found_session, work_tree_of
from holdfast.clients.launcher import folder_of_user
from holdfast.clients.lines import read_piece
from holdfast.clients.table import capability
from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import list_names, read_plain, write_synced
from holdfast.kernel.workspace import discover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TypedDict

    from holdfast.clients.discovery import FoundSession

    class KeptSession(TypedDict):
        """Which session a file holds. `bytes` is the size of its transcripts, `branch` the last one that the client
        noted."""

        client: Any
        session: str
        path: str
        modified: int
        cwd: str
        bytes: int
        branch: str


FOLDER, SUFFIX = "kept", ".session"
# A larger file is none of ours, nor one that holds more: an archive could bring a small one that fills the memory.
LARGEST, MOST_UNPACKED, LONGEST_HEADER = 256 << 20, 128 << 20, 1 << 16
# How the list of what a skimmed reading gives names a call that is only counted.
COUNTED = -1


def user_folder_of_sessions() -> str:
    """Return the folder in the user's data, with a folder for each project in it."""
    return os.path.join(folder_of_user(), "memory", FOLDER)


def home_of_folder(folder: str) -> str:
    """Return the home of the journal that a folder belongs to; empty where there is none."""
    try:
        workspace = discover(folder, local=True)
        return workspace.home if os.path.isfile(workspace.journal_path) else ""
    except (HoldfastError, OSError, ValueError):
        return ""


def folders_of(cwd: str) -> list[str]:
    """Return where sessions of a folder are kept, where they are written to first."""
    home = home_of_folder(cwd) if os.path.isabs(cwd) else ""
    key = digest((work_tree_of(cwd) or cwd).encode()).hex()[:16]
    found = [os.path.join(user_folder_of_sessions(), key)]
    return [os.path.join(home, FOLDER), *found] if home else found


def name_of(client: str, session: str) -> str:
    """Return the name of a session's file."""
    is_plain = session.replace("-", "").replace("_", "").isalnum() and len(session) <= 100
    return f"{client}-{session if is_plain else digest(session.encode()).hex()[:32]}{SUFFIX}"


def find_file(found: FoundSession) -> str:
    """Return the file that a session is kept in; empty where it is not."""
    name = name_of(found["client"], found["session"])
    for folder in folders_of(found["cwd"]):
        if os.path.isfile(os.path.join(folder, name)):
            return os.path.join(folder, name)
    # Its folder is gone, or was part of another work tree then.
    for path in list_files(_projects()):
        if os.path.basename(path) == name:
            return path
    return ""


def _projects() -> list[str]:
    root = user_folder_of_sessions()
    return [os.path.join(root, name) for name in list_names(root)]


def list_files(folders: Sequence[str]) -> Iterator[str]:
    """Return the files of kept sessions in some folders."""
    for folder in folders:
        names = (name for name in list_names(folder) if name.endswith(SUFFIX))
        yield from (os.path.join(folder, name) for name in names)


def list_all(cwd: str) -> Iterator[str]:
    """Return all files of kept sessions that this user has: of the repository of a folder, and of all projects without
    a journal."""
    home = home_of_folder(cwd)
    yield from list_files([*([os.path.join(home, FOLDER)] if home else []), *_projects()])


def read_header(path: str) -> KeptSession | None:
    """Return which session a file holds; None where it cannot be read."""
    line, end, _ = read_piece(path, LONGEST_HEADER).partition(b"\n")
    try:
        found: Any = canonical_json.loads(line.decode()) if end else None
        is_ours = isinstance(found, dict) and found["session"] and found["client"]
        kept: KeptSession | None = found if is_ours else None
    except (ValueError, KeyError):
        return None
    return kept


def as_found(header: KeptSession) -> FoundSession:
    client, session, path = header["client"], header["session"], header["path"]
    return found_session(client, session, path, header["modified"], header["cwd"])


def sessions_kept_in(folder: str) -> Iterator[FoundSession]:
    """Return the sessions of a folder whose transcripts are gone."""
    place = None
    for path in list_files(folders_of(folder)):
        header = read_header(path)
        if header is None or not is_gone(header):
            continue
        place = place or SessionPlace(folder)
        # A container may have mounted the repository at another path than before.
        if place.holds(header["cwd"]) or not os.path.isdir(header["cwd"]):
            yield as_found(header)


def is_gone(header: KeptSession | FoundSession) -> bool:
    """Return whether the client has deleted a session."""
    if not os.path.exists(header["path"]):
        return True
    # A client with one store for all sessions takes single ones out of it.
    is_stored = capability(header["client"], "store") is not None
    return is_stored and not finder_of(header["client"]).find(header["session"])


def kept_at(path: str, cwd: str = ".") -> FoundSession | None:
    """Return the session that a transcript held that is gone; None where it is not kept."""
    for file in list_all(os.path.abspath(cwd)):
        header = read_header(file)
        if header is not None and header["path"] == os.path.abspath(path):
            return as_found(header)
    return None


def read_kept(found: FoundSession, *, whole: bool) -> list[SessionEvent] | None:
    """Return the events of a session that is kept: as a reading of its whole transcript gives them, with those of its
    subagents, or as one that skims the beginning does. None where it is not kept."""
    path = find_file(found)
    return load(path, whole=whole) if path else None


def size_when_kept(found: FoundSession) -> int:
    """Return how many bytes the transcripts of a kept session had; 0 where it is not kept."""
    path = find_file(found)
    header = read_header(path) if path else None
    return header["bytes"] if header else 0


def load(path: str, *, whole: bool) -> list[SessionEvent] | None:
    """Return the events in a file; None where it is damaged."""
    from zlib import decompressobj, error

    try:
        content = read_plain(path, LARGEST, follow=False).partition(b"\n")[2]
        unpacked = decompressobj()
        text = unpacked.decompress(content, MOST_UNPACKED)
        if not unpacked.eof:
            return None
        stored: Any = canonical_json.loads(text.decode("utf-8", "surrogatepass"))
        events = [_event(row) for row in stored["events"]]
        if whole or stored["seen"] is None:
            return events[: stored["count"]] if whole else events
        return [COUNTED_CALL if at == COUNTED else events[at] for at in stored["seen"]]
    except (OSError, ValueError, KeyError, TypeError, IndexError, error):
        return None


def write(
    path: str, header: KeptSession, events: Sequence[SessionEvent], seen: Sequence[SessionEvent]
) -> int:
    """Keep a session: all its events, and those that a reading which skims gives. Return how many bytes that took."""
    from zlib import compress

    rows = [_row(event) for event in events]
    at: list[int] | None = None
    if list(events) != list(seen):
        known = {canonical_json.dumps(row): place for place, row in enumerate(rows)}
        at = []
        for event in seen:
            row = _row(event)
            place = known.setdefault(canonical_json.dumps(row), len(rows))
            if event is COUNTED_CALL:
                place = COUNTED
            elif place == len(rows):
                rows.append(row)
            at.append(place)
    stored = canonical_json.dumps({"count": len(events), "events": rows, "seen": at})
    head = canonical_json.dumps({**header})
    content = head.encode() + b"\n" + compress(stored.encode("utf-8", "surrogatepass"), 9)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    write_synced(path, content)
    return len(content)


def _row(event: SessionEvent) -> list[Any]:
    return [
        [dict(one) for one in getattr(event, name)]
        if name in ("tasks", "exact")
        else getattr(event, name)
        for name in SessionEvent.__slots__
    ]


def _event(row: list[Any]) -> SessionEvent:
    given = dict(zip(SessionEvent.__slots__, row, strict=True))
    return SessionEvent(given.pop("kind"), **given)
