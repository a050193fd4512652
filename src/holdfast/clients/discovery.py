"""Find the sessions of all clients that worked in a folder, without set-up and without writing.

Each client keeps its sessions under the user's home, sorted by its own rules. For each, the files'
times are looked at first; then the beginnings of the newest are read, until enough belong to the
folder. A session belongs to it if the client was started in the folder, in a folder below it that is
part of the same git work tree, or at the root of that work tree.
"""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from stat import S_ISREG

from holdfast.clients.conversation import table_of, text_of
from holdfast.clients.lines import Unread
from holdfast.clients.opencode import transcript as opencode_transcript
from holdfast.kernel.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal, TypedDict

    ClientName = Literal["claude", "codex", "gemini", "opencode"]

    class FoundSession(TypedDict):
        """One session of a client. `modified` is in milliseconds; `path` is the transcript, or the
        database that the session is in; `cwd` is where it began, empty where that is not known."""

        client: ClientName
        session: str
        path: str
        modified: int
        cwd: str


# So many sessions of each client are looked for; a longer list does not help.
ENOUGH = 50
# A home with more files than this is looked through in part.
MOST_FILES = 100_000
# Codex names the folder in the first kilobyte; Claude Code after the first prompt, however long.
FIRST_BYTES, MOST_BYTES = 4096, 1 << 20
# Claude Code shortens longer names of folders and adds a digest.
LONGEST_FOLDER_NAME = 200
_CWD = re.compile(rb'"cwd":\s*"((?:[^"\\]|\\.)*)"')
_OLD_CODEX_CWD = re.compile(rb"<cwd>([^<\\]{1,4096})</cwd>")
_GEMINI_SESSION = re.compile(rb'"sessionId":\s*"([^"\\]{1,200})"')
_GEMINI_PROJECT = re.compile(rb'"projectHash":\s*"')
_CODEX_LINES = frozenset(
    ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
)
_SQLITE = b"SQLite format 3\0"


def sessions_in(folder: str, *, enough: int = ENOUGH) -> list[FoundSession]:
    """The sessions that worked in a folder, the newest first, at most `enough` of each client."""
    place = SessionPlace(folder)
    found = [
        session
        for finder in (_claude, _codex, _gemini, _opencode)
        for session in islice(finder(place), enough)
    ]
    return sorted(found, key=lambda each: (-each["modified"], each["client"], each["session"]))


def session_at(path: str) -> FoundSession | None:
    """The session that a transcript file holds; None where the file is no client's transcript."""
    client = identify(path)
    if not client:
        return None
    path = os.path.abspath(path)
    modified = _modified(path)
    if client == "opencode":
        return next(_in_database(path, None), None)
    head = head_of(path, MOST_BYTES)
    began = _codex_head(path, head) if client == "codex" else {}
    session = os.path.basename(path).rpartition(".")[0]
    if client == "codex":
        session = text_of(began.get("id")) or session[-36:]
    elif client == "gemini":
        match = _GEMINI_SESSION.search(head)
        session = match[1].decode("utf-8", "replace") if match else session
    cwd = text_of(began.get("cwd"))
    if client == "claude":
        cwd = _claude_cwd(path)
    elif client == "gemini":
        cwd = first_line(os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root"))
    return {"client": client, "session": session, "path": path, "modified": modified, "cwd": cwd}


def identify(path: str) -> ClientName | Literal[""]:
    """Which client wrote a transcript, by its content; empty when that cannot be told."""
    head = head_of(path, MOST_BYTES)
    if head.startswith(_SQLITE):
        return "opencode" if next(_in_database(path, None), None) else ""
    for line in head.split(b"\n")[:50]:
        client = _writer_of(_object(line))
        if client:
            return client
    # One object on many lines, or a first line that is longer than what was read.
    if _GEMINI_PROJECT.search(head[:4000]) and _GEMINI_SESSION.search(head[:4000]):
        return "gemini"
    if b'"type":"session_meta"' in head[:200]:
        return "codex"
    return ""


def _writer_of(record: dict[str, Any]) -> ClientName | Literal[""]:
    if text_of(record.get("projectHash")) and text_of(record.get("sessionId")):
        return "gemini"
    kind = text_of(record.get("type"))
    if isinstance(record.get("payload"), dict) and kind in _CODEX_LINES:
        return "codex"
    if "instructions" in record and "git" in record and text_of(record.get("id")):
        return "codex"
    is_message = kind in ("user", "assistant") and isinstance(record.get("message"), dict)
    if text_of(record.get("sessionId")) and (text_of(record.get("uuid")) or is_message):
        return "claude"
    return ""


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


# Claude Code


def claude_home() -> str:
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def _claude(place: SessionPlace) -> Iterator[FoundSession]:
    """Projects have one folder each. Its name stands for several paths: `/a/b-c` and `/a/b/c`."""
    names = [_claude_name(path) for path in place.spellings]
    folders = [
        entry.path
        for entry in _entries(os.path.join(claude_home(), "projects"))
        if any(_may_be_below(entry.name, name) for name in names)
    ]
    files = [
        entry
        for folder in folders
        for entry in _entries(folder)
        if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
    ]
    for modified, path in _newest_first(files):
        cwd = _claude_cwd(path)
        if cwd and place.holds(cwd):
            session = os.path.basename(path).removesuffix(".jsonl")
            yield _session("claude", session, path, modified, cwd)


def _claude_name(path: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path)


def _may_be_below(name: str, of: str) -> bool:
    return name == of or name.startswith((of + "-")[:LONGEST_FOLDER_NAME])


def _claude_cwd(path: str) -> str:
    """The folder that the first lines name; the last line that was read may be cut."""
    size = 16 * FIRST_BYTES
    while True:
        head = head_of(path, size)
        lines = head.split(b"\n")
        for line in lines:
            if b'"cwd"' in line:
                cwd = text_of(_object(line).get("cwd"))
                if cwd:
                    return cwd
        if len(head) < size or size >= MOST_BYTES:
            match = _CWD.search(lines[-1])
            return _text(match[1]) if match else ""
        size = MOST_BYTES


# Codex


def codex_home() -> str:
    return os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")


def _codex(place: SessionPlace) -> Iterator[FoundSession]:
    """Sorted by the day that they began on; a session that was taken up again is newer than that."""
    for modified, path in _newest_first(_rollouts()):
        head = head_of(path, FIRST_BYTES)
        match = _CWD.search(head)
        if match and not place.holds(_text(match[1])):
            continue
        began = _codex_head(path, head)
        cwd = text_of(began.get("cwd"))
        if cwd and place.holds(cwd) and not _is_subagent(began):
            session = text_of(began.get("id")) or os.path.basename(path)[-42:-6]
            yield _session("codex", session, path, modified, cwd)


def _rollouts() -> Iterator[os.DirEntry[str]]:
    folders = [os.path.join(codex_home(), "sessions")]
    for _ in ("year", "month", "day"):
        folders = [entry.path for folder in folders for entry in _entries(folder)]
    for folder in reversed(folders):
        for entry in _entries(folder):
            if entry.name.startswith("rollout-") and entry.name.endswith(".jsonl"):
                yield entry


def _codex_head(path: str, head: bytes) -> dict[str, Any]:
    """What a rollout says of itself in its first line; older ones name the folder further below."""
    if b"\n" not in head:
        head = head_of(path, MOST_BYTES)
    line = head.partition(b"\n")[0]
    record = _object(line)
    began = table_of(record.get("payload")) or record
    if not text_of(began.get("cwd")):
        head = head_of(path, 16 * FIRST_BYTES)
        match = _OLD_CODEX_CWD.search(head) or _CWD.search(head)
        began = {**began, "cwd": _text(match[1]) if match else ""}
    return began


def _is_subagent(began: dict[str, Any]) -> bool:
    parent = text_of(began.get("session_id"))
    source = table_of(began.get("source"))
    return "subagent" in source or bool(parent and parent != began.get("id"))


# Gemini CLI


def gemini_home() -> str:
    home = os.environ.get("GEMINI_CLI_HOME") or os.path.expanduser("~")
    return os.path.join(home, ".gemini")


def _gemini(place: SessionPlace) -> Iterator[FoundSession]:
    """A folder per project: by a name, with the path in `.project_root`, or by the path's digest."""
    digests = {digest(path.encode()).hex(): path for path in place.spellings}
    roots: dict[str, str] = {}
    files: list[os.DirEntry[str]] = []
    for project in _entries(os.path.join(gemini_home(), "tmp")):
        root = first_line(os.path.join(project.path, ".project_root")) or digests.get(
            project.name, ""
        )
        if root and place.holds(root):
            chats = os.path.join(project.path, "chats")
            roots[chats] = root
            files += [entry for entry in _entries(chats) if _is_chat(entry.name)]
    # A session that was taken up again by a newer version is there in both shapes.
    names = {entry.path for entry in files}
    newest = _newest_first(entry for entry in files if f"{entry.path}l" not in names)
    for modified, path in newest:
        match = _GEMINI_SESSION.search(head_of(path, FIRST_BYTES))
        if match:
            session = match[1].decode("utf-8", "replace")
            yield _session("gemini", session, path, modified, roots[os.path.dirname(path)])


def _is_chat(name: str) -> bool:
    return name.startswith("session-") and name.endswith((".json", ".jsonl"))


# opencode


def _opencode(place: SessionPlace) -> Iterator[FoundSession]:
    known: set[str] = set()
    for path in opencode_transcript.databases():
        for session in _in_database(path, place):
            known.add(session["session"])
            yield session
    for session in _in_files(place):
        if session["session"] not in known:
            yield session


def _in_database(path: str, place: SessionPlace | None) -> Iterator[FoundSession]:
    """The sessions of a database, without those that another session started."""
    try:
        with opencode_transcript.opened(path) as store:
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
            yield _session("opencode", id, path, updated, cwd)


def _in_files(place: SessionPlace) -> Iterator[FoundSession]:
    """Before 1.2: `storage/session/<project>/<session>.json`."""
    storage = os.path.join(opencode_transcript.data_folder(), "storage", "session")
    files = [
        entry
        for project in _entries(storage)
        for entry in _entries(project.path)
        if entry.name.startswith("ses_") and entry.name.endswith(".json")
    ]
    for modified, path in _newest_first(files):
        record = opencode_transcript.read_object(path)
        cwd, id = text_of(record.get("directory")), text_of(record.get("id"))
        if id and cwd and not record.get("parentID") and place.holds(cwd):
            updated = table_of(record.get("time")).get("updated")
            when = updated if isinstance(updated, int) else modified
            yield _session("opencode", id, path, when, cwd)


# Files


def _session(client: ClientName, session: str, path: str, modified: int, cwd: str) -> FoundSession:
    return {"client": client, "session": session, "path": path, "modified": modified, "cwd": cwd}


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _newest_first(entries: Iterable[os.DirEntry[str]]) -> list[tuple[int, str]]:
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


def _modified(path: str) -> int:
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


def _object(line: bytes) -> dict[str, Any]:
    if not line.lstrip().startswith(b"{"):
        return {}
    try:
        return table_of(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _text(raw: bytes) -> str:
    """The text that the inside of a JSON string stands for."""
    if b"\\" not in raw:
        return raw.decode("utf-8", "replace")
    try:
        return text_of(json.loads(b'"' + raw + b'"'))
    except ValueError:
        return ""
