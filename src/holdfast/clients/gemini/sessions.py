"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`."""

from __future__ import annotations

import os

from holdfast.clients.discovery import (
    FIRST_BYTES,
    MOST_BYTES,
    entries_of,
    first_line,
    found_session,
    head_of,
    newest_first,
)
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import text_of
from holdfast.kernel.digest import digest
from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace

_SESSION = compile_later(rb'"sessionId":\s*"([^"\\]{1,200})"')
_PROJECT = compile_later(rb'"projectHash":\s*"')


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    """A folder per project: by a name, with the path in `.project_root`, or by the path's digest."""
    digests = {digest(path.encode()).hex(): path for path in place.spellings}
    roots: dict[str, str] = {}
    files: list[os.DirEntry[str]] = []
    for project in entries_of(os.path.join(home_of("gemini"), "tmp")):
        root = first_line(os.path.join(project.path, ".project_root")) or digests.get(
            project.name, ""
        )
        if root and place.holds(root):
            chats = os.path.join(project.path, "chats")
            roots[chats] = root
            files += [entry for entry in entries_of(chats) if _is_chat(entry.name)]
    # A session that was taken up again by a newer version is there in both shapes.
    names = {entry.path for entry in files}
    newest = newest_first(entry for entry in files if f"{entry.path}l" not in names)
    for modified, path in newest:
        match = _SESSION.search(head_of(path, FIRST_BYTES))
        if match:
            session = match[1].decode("utf-8", "replace")
            yield found_session("gemini", session, path, modified, roots[os.path.dirname(path)])


def _is_chat(name: str) -> bool:
    return name.startswith("session-") and name.endswith((".json", ".jsonl"))


def is_writer(record: dict[str, Any]) -> bool:
    return bool(text_of(record.get("projectHash")) and text_of(record.get("sessionId")))


def is_whole(head: bytes) -> bool:
    """Whether a file of an older version begins so: one object on many lines."""
    return bool(_PROJECT.search(head[:4000]) and _SESSION.search(head[:4000]))


def session_at(path: str, modified: int) -> FoundSession:
    match = _SESSION.search(head_of(path, MOST_BYTES))
    name = os.path.basename(path).rpartition(".")[0]
    session = match[1].decode("utf-8", "replace") if match else name
    cwd = first_line(os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root"))
    return found_session("gemini", session, path, modified, cwd)
