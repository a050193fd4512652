"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`.

A message is written anew whenever it changes: the last one with its id counts. Subagents are in a
folder of the session's name beside it.
"""

from __future__ import annotations

import os

from holdfast.clients.lines import first_record
from holdfast.clients.table import home_of
from holdfast.clients.usage.model import count, message
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.usage.model import Found, Source

CLIENT = "gemini"
# What the client itself reckons with, for every Gemini model, when it decides to compress.
WINDOW = 1_048_576
_TELLING = (b'"tokens":', b'"gemini"', b'"startTime":', b'"error"', b'"messages":')


def newest(root: str) -> list[Source]:
    """The chat in which a session of this folder wrote last, with its subagents."""
    found = []
    for chats in _chat_folders():
        if _root_of(os.path.dirname(chats)) == root:
            found += [(os.stat(path).st_mtime_ns, path) for path in _chats(chats)]
    return of_path(max(found)[1]) if found else []


def find(session: str) -> list[Source]:
    """The files of one session, whatever folder it worked in."""
    for chats in _chat_folders():
        for path in _chats(chats):
            if path.endswith(f"-{session[:8]}.jsonl") and _session_of(path) == session:
                return of_path(path)
    return []


def is_own(path: str) -> bool:
    """Whether a file is called as this client calls its transcripts."""
    folder, name = os.path.split(path)
    return name.startswith("session-") and os.path.basename(folder) == "chats"


def of_path(path: str) -> list[Source]:
    session = _session_of(path) or os.path.basename(path).removesuffix(".jsonl")
    sources: list[Source] = [{"client": CLIENT, "session": session, "path": path, "agent": ""}]
    for each in _files(os.path.join(os.path.dirname(path), session)):
        agent = os.path.basename(each).removesuffix(".jsonl")
        sources.append({**sources[0], "path": each, "agent": agent})
    return sources


def _chat_folders() -> list[str]:
    projects = os.path.join(home_of(CLIENT), "tmp")
    try:
        names = sorted(os.listdir(projects))
    except OSError:
        return []
    return [os.path.join(projects, name, "chats") for name in names]


def _root_of(project: str) -> str:
    try:
        return read_plain(os.path.join(project, ".project_root")).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _chats(folder: str) -> list[str]:
    return [path for path in _files(folder) if os.path.basename(path).startswith("session-")]


def _files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".jsonl")]


def _session_of(path: str) -> str:
    return text_of(first_record(path).get("sessionId"))


def is_telling(line: bytes) -> bool:
    return any(word in line for word in _TELLING)


def glance(line: bytes, state: dict[str, Any], found: Found) -> None:
    if b'"$set":' in line or b'"type":' in line:
        found.known += 1


def parse(record: dict[str, Any], source: Source, state: dict[str, Any], found: Found) -> None:
    """One line: the session, a message, or a patch that may hold messages."""
    if record.get("sessionId") or record.get("type") or "$set" in record:
        found.known += 1
    if text_of(record.get("startTime")) and not found.started_at:
        found.started_at = record["startTime"]
    patched = table_of(record.get("$set")).get("messages")
    for each in patched if isinstance(patched, list) else [record]:
        if isinstance(each, dict) and each.get("type") == "gemini":
            _answer(each, source, found)
        elif isinstance(each, dict) and each.get("type") == "error":
            id = text_of(each.get("id")) or text_of(each.get("timestamp"))
            found.errors[id] = text_of(each.get("content")) or "error"


def _answer(said: dict[str, Any], source: Source, found: Found) -> None:
    """Cached tokens are part of `input`; thoughts are billed as output and stand beside it."""
    id, at, model = (text_of(said.get(name)) for name in ("id", "timestamp", "model"))
    answer = message(id or at, at, model, provider="google")
    found.messages[answer["id"]] = answer
    tokens = said.get("tokens")
    if not isinstance(tokens, dict):
        return
    cached = count(tokens.get("cached"))
    answer["input"] = max(0, count(tokens.get("input")) - cached) + count(tokens.get("tool"))
    answer["output"] = count(tokens.get("output")) + count(tokens.get("thoughts"))
    answer["cache_read"] = cached
    answer["counted"] = True
    if not source["agent"]:
        found.context = {
            "at": at,
            "tokens": count(tokens.get("total")),
            "window": WINDOW if model.startswith("gemini") else 0,
            "model": model,
            "provider": "google",
        }
