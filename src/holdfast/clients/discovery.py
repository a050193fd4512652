"""Find the sessions of all clients that worked in a folder, without set-up and without writing.

Each client keeps its sessions under the user's home, sorted by its own rules. For each, the files'
times are looked at first; then the beginnings of the newest are read, until enough belong to the
folder. A session belongs to it if the client was started in the folder, in a folder below it that is
part of the same git work tree, or at the root of that work tree.
"""

from __future__ import annotations

import os
from itertools import islice, takewhile
from stat import S_ISREG

from holdfast.clients.lines import MOST_BYTES, object_in, read_piece
from holdfast.clients.table import NAMES, capability, clients_at_home, part
from holdfast.kernel.errors import Usage
from holdfast.kernel.plain_file import modified_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal, Protocol, TypedDict

    from holdfast.clients.table import ClientName
    from holdfast.clients.usage.model import Source

    class FoundSession(TypedDict):
        """One session of a client. `modified` is in milliseconds; `path` is the transcript, or the
        database that the session is in; `cwd` is where it began, empty where that is not known."""

        client: ClientName
        session: str
        path: str
        modified: int
        cwd: str

    class SessionFinder(Protocol):
        """The capability `sessions`: the module `sessions` of a client. One that files sessions by folder has
        `filed_under`, too: the sessions of one folder without a look into the files."""

        def sessions(self, place: SessionPlace) -> Iterator[FoundSession]:
            """The sessions that belong to a folder, the newest first."""

        def is_writer(self, record: dict[str, Any]) -> bool:
            """Whether an object of a transcript's first lines is this client's."""

        def session_at(self, path: str, modified: int) -> FoundSession | None:
            """The session in a file that this client wrote."""

        def find(self, session: str) -> list[Source]:
            """The files of one session, whatever folder it worked in: its own, then its subagents'."""

        def of_path(self, path: str) -> list[Source]:
            """The same, by the session's own file."""


# A home with more files than this is looked through in part.
MOST_FILES = 100_000
# So many sessions of each client are looked for; a longer list does not help.
ENOUGH = 50
_SQLITE = b"SQLite format 3\0"


class SessionPlace:
    """The folder that is asked for, and whether another one belongs to it."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.realpath(folder)
        self.tree = work_tree_of(self.path)
        # The spelling that was given, too: a client may have written it so.
        self.spellings = {os.path.abspath(folder), self.path, *filter(None, [self.tree])}
        self._known: dict[str, bool] = {}

    def holds(self, cwd: str) -> bool:
        if cwd not in self._known:
            self._known[cwd] = cwd in self.spellings or self._is_part(cwd)
        return self._known[cwd]

    def _is_part(self, cwd: str) -> bool:
        if not os.path.isabs(cwd) or "\0" in cwd:
            return False
        real = os.path.realpath(cwd)
        if real in self.spellings:
            return True
        return real.startswith(self.path.rstrip("/") + "/") and work_tree_of(real) == self.tree


def work_tree_of(folder: str) -> str:
    """The root of the git work tree that a folder is in; empty when it is in none."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


# Files


def found_session(
    client: ClientName, session: str, path: str, modified: int, cwd: str
) -> FoundSession:
    return {"client": client, "session": session, "path": path, "modified": modified, "cwd": cwd}


def source_of(client: ClientName, session: str, path: str, agent: str = "") -> Source:
    return {"client": client, "session": session, "path": path, "agent": agent}


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def paths_matching(folder: str, pattern: str, *, last_first: bool = False) -> Iterator[str]:
    """The paths below a folder that match `a*/b*.json`: in each name one `*` stands for any letters.
    Only the folders that are needed are listed."""
    name, _, below = pattern.partition("/")
    begin, star, end = name.partition("*")
    paths = [os.path.join(folder, name)]
    if star:
        entries = entries_of(folder)
        paths = [
            entry.path
            for entry in entries
            if entry.name.startswith(begin) and entry.name.endswith(end)
        ]
    for path in reversed(paths) if last_first else paths:
        if below:
            yield from paths_matching(path, below, last_first=last_first)
        else:
            yield path


def newest_first(paths: Iterable[str]) -> list[tuple[int, str]]:
    """Regular files with their times in milliseconds; links are followed."""
    found = []
    for path in islice(paths, MOST_FILES):
        try:
            about = os.stat(path)
        except OSError:
            continue
        if S_ISREG(about.st_mode):
            found.append((about.st_mtime_ns // 1_000_000, path))
    return sorted(found, reverse=True)


# Sessions


def finder_of(client: str) -> SessionFinder:
    found: SessionFinder = part(client, "sessions")
    return found


def sessions_in(folder: str, *, enough: int = ENOUGH) -> list[FoundSession]:
    """The sessions that worked in a folder, the newest first, at most `enough` of each client; those of which only
    Holdfast still has the text, too."""
    place = SessionPlace(folder)
    found = [
        session
        for client in clients_at_home()
        for session in islice(finder_of(client).sessions(place), enough)
    ]
    from holdfast.clients import kept

    found += kept.sessions_kept_in(folder)
    return sorted(found, key=lambda each: (-each["modified"], each["client"], each["session"]))


class Everywhere(SessionPlace):
    """The place that every session belongs to; `folder` is where the caller is."""

    def __init__(self, folder: str = "/") -> None:
        super().__init__("/")
        self.folder = folder
        # Clients name a project's folder after its path: every such name begins as that of the root does.
        self.spellings = {""}

    def holds(self, cwd: str) -> bool:
        return True


def list_since(place: SessionPlace, since: int = 0) -> Iterator[FoundSession]:
    """Return the sessions of all clients that belong to a place and wrote something since, the newest first."""
    from heapq import merge

    each = [
        takewhile(lambda one: one["modified"] >= since, finder_of(client).sessions(place))
        for client in clients_at_home()
    ]
    return merge(*each, key=lambda one: -one["modified"])


def begun_in(folder: str, client: str) -> Iterator[FoundSession]:
    """The sessions that began in this very folder, the newest first."""
    if (filing := capability(client, "filing")) is not None:
        filed: Iterator[FoundSession] = filing.filed_under(folder)
        return filed
    found = finder_of(client).sessions(SessionPlace(folder))
    return (one for one in found if one["cwd"] == folder)


def newest_files(folder: str, client: str) -> list[Source]:
    """The files of the session that began in this very folder and was written to last."""
    newest = next(begun_in(folder, client), None)
    return finder_of(client).find(newest["session"]) if newest else []


def sessions_since(folder: str, instant: int) -> list[str]:
    """The sessions that began in this very folder and wrote something at an instant or after it."""
    return [
        session["session"]
        for client in clients_at_home()
        for session in takewhile(lambda one: one["modified"] >= instant, begun_in(folder, client))
    ]


def files_of(session: str) -> list[Source]:
    """The files of a session wherever it worked, its own first."""
    if "/" in session or ".." in session or not session.isprintable():
        raise Usage(f"{session!r:.60} is no session's id.")
    for client in clients_at_home():
        found = finder_of(client).find(session)
        if found:
            return found
    return []


def session_at(path: str) -> FoundSession | None:
    """The session that a transcript file holds; None where the file is no client's transcript."""
    client = identify(path)
    if not client:
        from holdfast.clients import kept

        return None if os.path.exists(path) else kept.kept_at(path)
    path = os.path.abspath(path)
    return finder_of(client).session_at(path, modified_at(path))


def is_of_project(path: str, roots: Iterable[str]) -> bool:
    """Return whether the session of a transcript worked in one of these folders, or began in one above them. One
    that does not say where it worked is taken for it."""
    found = session_at(path)
    if found is None or not found["cwd"]:
        return found is not None
    cwd = os.path.realpath(found["cwd"]) if os.path.isabs(found["cwd"]) else ""
    return any(
        SessionPlace(root).holds(found["cwd"]) or (cwd and f"{root}/".startswith(f"{cwd}/"))
        for root in roots
    )


def identify(path: str) -> ClientName | Literal[""]:
    """Which client wrote a transcript, by its content; empty when that cannot be told."""
    head = read_piece(path, MOST_BYTES)
    if head.startswith(_SQLITE):
        return "opencode" if finder_of("opencode").session_at(path, 0) else ""
    for line in head.split(b"\n")[:50]:
        record = object_in(line)
        for client in NAMES if record else ():
            if finder_of(client).is_writer(record):
                return client
    # A first line may be longer than what was read.
    return "codex" if part("codex", "sessions").is_head(head) else ""
