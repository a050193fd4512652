"""Claude Code: `~/.claude/projects/<the folder's path>/<session>.jsonl`."""

from __future__ import annotations

import os

from holdfast.clients.discovery import (
    FIRST_BYTES,
    MOST_BYTES,
    entries_of,
    found_session,
    head_of,
    json_text,
    newest_first,
    object_in,
)
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import text_of
from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace

# Longer names of folders are shortened, and end with a digest.
LONGEST_FOLDER_NAME = 200
_CWD = compile_later(rb'"cwd":\s*"((?:[^"\\]|\\.)*)"')


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    """Projects have one folder each. Its name stands for several paths: `/a/b-c` and `/a/b/c`."""
    names = [name_of(path) for path in place.spellings]
    folders = [
        entry.path
        for entry in entries_of(os.path.join(home_of("claude"), "projects"))
        if any(may_be_below(entry.name, name) for name in names)
    ]
    files = [
        entry
        for folder in folders
        for entry in entries_of(folder)
        if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
    ]
    for modified, path in newest_first(files):
        cwd = cwd_of(path)
        if cwd and place.holds(cwd):
            session = os.path.basename(path).removesuffix(".jsonl")
            yield found_session("claude", session, path, modified, cwd)


def name_of(path: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in path)


def may_be_below(name: str, of: str) -> bool:
    return name == of or name.startswith((of + "-")[:LONGEST_FOLDER_NAME])


def cwd_of(path: str) -> str:
    """The folder that the first lines name; the last line that was read may be cut."""
    size = 16 * FIRST_BYTES
    while True:
        head = head_of(path, size)
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
