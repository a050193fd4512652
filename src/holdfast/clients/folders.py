"""What the search for sessions needs of any client: the folder that is asked for, and files that are
looked at without set-up, without writing and without waiting."""

from __future__ import annotations

import os
from stat import S_ISREG

from holdfast.kernel import canonical_json
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol, TypedDict

    from holdfast.clients.table import ClientName

    class FoundSession(TypedDict):
        """One session of a client. `modified` is in milliseconds; `path` is the transcript, or the
        database that the session is in; `cwd` is where it began, empty where that is not known."""

        client: ClientName
        session: str
        path: str
        modified: int
        cwd: str

    class SessionFinder(Protocol):
        """The module `sessions` of a client."""

        def home(self) -> str:
            """The folder in which the client keeps what is its own."""

        def sessions(self, place: SessionPlace) -> Iterator[FoundSession]:
            """The sessions that belong to a folder, the newest first."""

        def is_writer(self, record: dict[str, Any]) -> bool:
            """Whether an object of a transcript's first lines is this client's."""

        def session_at(self, path: str, modified: int) -> FoundSession | None:
            """The session in a file that this client wrote."""


# A home with more files than this is looked through in part.
MOST_FILES = 100_000
FIRST_BYTES, MOST_BYTES = 4096, 1 << 20


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


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def newest_first(entries: Iterable[os.DirEntry[str]]) -> list[tuple[int, str]]:
    """Regular files with their times in milliseconds; links are followed."""
    found = []
    for place, entry in enumerate(entries):
        if place >= MOST_FILES:
            break
        try:
            about = entry.stat()
        except OSError:
            continue
        if S_ISREG(about.st_mode) and about.st_size:
            found.append((about.st_mtime_ns // 1_000_000, entry.path))
    return sorted(found, reverse=True)


def modified_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return 0


def head_of(path: str, size: int = 16 * FIRST_BYTES) -> bytes:
    """The first bytes of a regular file; nothing of anything else, and never a wait."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return b""
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return os.pread(descriptor, size, 0)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def first_line(path: str) -> str:
    """A file of one line, without the blanks around it."""
    return head_of(path, FIRST_BYTES).decode("utf-8", "replace").strip()


def object_in(line: bytes) -> dict[str, Any]:
    if not line.lstrip().startswith(b"{"):
        return {}
    try:
        return table_of(canonical_json.loads(line.decode()))
    except (ValueError, RecursionError):
        return {}


def json_text(raw: bytes) -> str:
    """The text that the inside of a JSON string stands for."""
    if b"\\" not in raw:
        return raw.decode("utf-8", "replace")
    try:
        return text_of(canonical_json.loads(f'"{raw.decode()}"'))
    except ValueError:
        return ""
