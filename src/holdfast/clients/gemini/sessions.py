"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`.

Subagents are in a folder of the session's name beside it.

A message is written anew whenever it changes, and the last one with its id counts.
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
from holdfast.clients.lines import FIRST_BYTES, MOST_BYTES, first_line, first_record, read_piece
from holdfast.clients.table import home_of
from holdfast.clients.usage.model import count, new_context, new_message
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.digest import digest
from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Found, Source

_SESSION = compile_later(rb'"sessionId":\s*"([^"\\]{1,200})"')


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    """A folder per project: by a name, with the path in `.project_root`, or by the path's digest."""
    digests = {digest(path.encode()).hex(): path for path in place.spellings}
    roots: dict[str, str] = {}
    files: list[str] = []
    for project in entries_of(os.path.join(home_of("gemini"), "tmp")):
        root = first_line(os.path.join(project.path, ".project_root")) or digests.get(
            project.name, ""
        )
        if root and place.holds(root):
            chats = os.path.join(project.path, "chats")
            roots[chats] = root
            files += paths_matching(chats, "session-*.jsonl")
    for modified, path in newest_first(files):
        match = _SESSION.search(read_piece(path, FIRST_BYTES))
        if match:
            session = match[1].decode("utf-8", "replace")
            yield found_session("gemini", session, path, modified, roots[os.path.dirname(path)])


def find(session: str) -> list[Source]:
    chats = paths_matching(home_of("gemini"), f"tmp/*/chats/session-*-{session[:8]}.jsonl")
    return next((of_path(path) for path in chats if _session_of(path) == session), [])


def of_path(path: str) -> list[Source]:
    session = _session_of(path) or os.path.basename(path).removesuffix(".jsonl")
    agents = [
        source_of("gemini", session, each, os.path.basename(each).removesuffix(".jsonl"))
        for each in paths_matching(os.path.join(os.path.dirname(path), session), "*.jsonl")
    ]
    return [source_of("gemini", session, path), *agents]


def _session_of(path: str) -> str:
    return text_of(first_record(path).get("sessionId"))


def is_writer(record: dict[str, Any]) -> bool:
    return bool(text_of(record.get("projectHash")) and text_of(record.get("sessionId")))


def session_at(path: str, modified: int) -> FoundSession:
    match = _SESSION.search(read_piece(path, MOST_BYTES))
    name = os.path.basename(path).rpartition(".")[0]
    session = match[1].decode("utf-8", "replace") if match else name
    cwd = first_line(os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root"))
    return found_session("gemini", session, path, modified, cwd)


# What the lines say of spending

# What the client itself reckons with, for every Gemini model, when it decides to compress.
WINDOW = 1_048_576
TELLING = (b'"tokens":', b'"gemini"', b'"startTime":', b'"error"', b'"messages":')


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
    answer = new_message(id or at, at, model, provider="google")
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
        window = WINDOW if model.startswith("gemini") else 0
        total = count(tokens.get("total"))
        found.context = new_context(at, total, model, provider="google", window=window)
