"""Find the sessions of all clients that worked in a folder, without set-up and without writing.

Each client keeps its sessions under the user's home, sorted by its own rules. For each, the files'
times are looked at first; then the beginnings of the newest are read, until enough belong to the
folder. A session belongs to it if the client was started in the folder, in a folder below it that is
part of the same git work tree, or at the root of that work tree.
"""

from __future__ import annotations

import os
from itertools import islice

from holdfast.clients.folders import MOST_BYTES, SessionPlace, head_of, modified_at, object_in
from holdfast.clients.table import NAMES, clients_at_home, part
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from holdfast.clients.folders import FoundSession, SessionFinder
    from holdfast.clients.table import ClientName
    from holdfast.clients.usage.model import Source

# So many sessions of each client are looked for; a longer list does not help.
ENOUGH = 50
_SQLITE = b"SQLite format 3\0"


def finder_of(client: str) -> SessionFinder:
    found: SessionFinder = part(client, "sessions")
    return found


def sessions_in(folder: str, *, enough: int = ENOUGH) -> list[FoundSession]:
    """The sessions that worked in a folder, the newest first, at most `enough` of each client."""
    place = SessionPlace(folder)
    found = [
        session
        for client in clients_at_home()
        for session in islice(finder_of(client).sessions(place), enough)
    ]
    return sorted(found, key=lambda each: (-each["modified"], each["client"], each["session"]))


def files_of(session: str) -> list[Source]:
    """The files of a session wherever it worked, its own first."""
    if "/" in session or ".." in session or not session.isprintable():
        raise Usage(f"{session!r:.60} is no session's id.")
    for client in clients_at_home():
        found: list[Source] = part(client, "usage").find(session)
        if found:
            return found
    return []


def session_at(path: str) -> FoundSession | None:
    """The session that a transcript file holds; None where the file is no client's transcript."""
    client = identify(path)
    if not client:
        return None
    path = os.path.abspath(path)
    return finder_of(client).session_at(path, modified_at(path))


def identify(path: str) -> ClientName | Literal[""]:
    """Which client wrote a transcript, by its content; empty when that cannot be told."""
    head = head_of(path, MOST_BYTES)
    if head.startswith(_SQLITE):
        return "opencode" if finder_of("opencode").session_at(path, 0) else ""
    for line in head.split(b"\n")[:50]:
        record = object_in(line)
        for client in NAMES if record else ():
            if finder_of(client).is_writer(record):
                return client
    # One object on many lines, or a first line that is longer than what was read.
    if part("gemini", "sessions").is_whole(head):
        return "gemini"
    return "codex" if part("codex", "sessions").is_head(head) else ""
