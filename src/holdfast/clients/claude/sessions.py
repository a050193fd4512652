"""Claude Code: `~/.claude/projects/<the folder's path>/<session>.jsonl`.

Subagents have files of their own beside it. Qwen Code names its folders in the same way.
"""

from __future__ import annotations

import os

from holdfast.clients.discovery import (
    entries_of,
    found_session,
    newest_first,
    paths_matching,
    source_of,
)
from holdfast.clients.lines import FIRST_BYTES, MOST_BYTES, json_text, object_in, read_piece
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import text_of
from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.table import ClientName
    from holdfast.clients.usage.model import Source

# Longer names of folders are shortened, and end with a digest.
LONGEST_FOLDER_NAME = 200
_CWD = compile_later(rb'"cwd":\s*"((?:[^"\\]|\\.)*)"')


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    return sessions_in_projects("claude", place, "*.jsonl")


def sessions_in_projects(
    client: ClientName, place: SessionPlace, pattern: str
) -> Iterator[FoundSession]:
    """Projects have one folder each. Its name stands for several paths: `/a/b-c` and `/a/b/c`."""
    names = [_name_of(path) for path in place.spellings]
    paths = (
        path
        for project in entries_of(os.path.join(home_of(client), "projects"))
        if any(_may_be_below(project.name, name) for name in names)
        for path in paths_matching(project.path, pattern)
    )
    for modified, path in newest_first(paths):
        name, cwd = os.path.basename(path), cwd_of(path)
        if cwd and place.holds(cwd) and not name.startswith("agent-"):
            yield found_session(client, name.removesuffix(".jsonl"), path, modified, cwd)


def filed_under(folder: str) -> Iterator[FoundSession]:
    return filed_in_project("claude", folder, "*.jsonl")


def filed_in_project(client: ClientName, folder: str, pattern: str) -> Iterator[FoundSession]:
    for modified, path in newest_first(paths_matching(folder_of(folder, client), pattern)):
        session = os.path.basename(path).removesuffix(".jsonl")
        yield found_session(client, session, path, modified, folder)


def folder_of(root: str, client: ClientName = "claude") -> str:
    """Where the transcripts of sessions in a folder are."""
    return os.path.join(home_of(client), "projects", _name_of(root))


def _name_of(path: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path)


def _may_be_below(name: str, of: str) -> bool:
    return name == of or name.startswith((of + "-")[:LONGEST_FOLDER_NAME])


def find(session: str) -> list[Source]:
    path = find_in_projects("claude", f"{session}.jsonl")
    return of_path(path) if path else []


def find_in_projects(client: ClientName, name: str) -> str:
    """The file of this name in the folder of any project; empty when there is none."""
    projects = entries_of(os.path.join(home_of(client), "projects"))
    paths = (os.path.join(project.path, name) for project in projects)
    return next(filter(os.path.isfile, paths), "")


def of_path(path: str) -> list[Source]:
    session = os.path.basename(path).removesuffix(".jsonl")
    folder = os.path.join(os.path.dirname(path), session, "subagents")
    agents = [
        source_of("claude", session, each, os.path.basename(each)[len("agent-") : -len(".jsonl")])
        for each in paths_matching(folder, "agent-*.jsonl")
    ]
    return [source_of("claude", session, path), *agents]


def cwd_of(path: str) -> str:
    """The folder that the first lines name; the last line that was read may be cut."""
    size = 16 * FIRST_BYTES
    while True:
        head = read_piece(path, size)
        lines = head.split(b"\n")
        for line in lines:
            if b'"cwd"' in line:
                cwd = text_of(object_in(line).get("cwd"))
                if cwd:
                    return cwd
        if len(head) < size or size >= MOST_BYTES:
            match = _CWD.search(lines[-1])
            return json_text(match[1]) if match else ""
        size = MOST_BYTES


def is_writer(record: dict[str, Any]) -> bool:
    kind, message = text_of(record.get("type")), record.get("message")
    # Qwen Code writes its lines with the same names around a message of another shape.
    if "systemPayload" in record or (isinstance(message, dict) and "parts" in message):
        return False
    is_message = kind in ("user", "assistant") and isinstance(message, dict)
    return bool(text_of(record.get("sessionId")) and (text_of(record.get("uuid")) or is_message))


def session_at(path: str, modified: int) -> FoundSession:
    session = os.path.basename(path).rpartition(".")[0]
    return found_session("claude", session, path, modified, cwd_of(path))
