"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`.

A subagent has a rollout of its own, whose first line names the session that it belongs to.
"""

from __future__ import annotations

import os
from itertools import islice

from holdfast.clients.discovery import found_session, newest_first, paths_matching, source_of
from holdfast.clients.lines import (
    FIRST_BYTES,
    MOST_BYTES,
    first_record,
    json_text,
    object_in,
    read_piece,
)
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.clients.usage.model import Source

_CWD = compile_later(rb'"cwd":\s*"((?:[^"\\]|\\.)*)"')
_OLD_CWD = compile_later(rb"<cwd>([^<\\]{1,4096})</cwd>")
# So many of the newest rollouts are looked at for one session's.
LOOK_BACK = 200
_LINES = frozenset(("session_meta", "turn_context", "response_item", "event_msg", "compacted"))


def sessions(place: SessionPlace) -> Iterator[FoundSession]:
    """Sorted by the day that they began on; a session that was taken up again is newer than that."""
    for modified, path in newest_first(_rollouts()):
        head = read_piece(path, FIRST_BYTES)
        match = _CWD.search(head)
        if match and not place.holds(json_text(match[1])):
            continue
        began = _head_of_session(path, head)
        cwd = text_of(began.get("cwd"))
        if cwd and place.holds(cwd) and not _is_subagent(began):
            session = text_of(began.get("id")) or os.path.basename(path)[-42:-6]
            yield found_session("codex", session, path, modified, cwd)


def _rollouts() -> Iterator[str]:
    """The newest first, by the date in their folders and names."""
    pattern = "sessions/*/*/*/rollout-*.jsonl"
    return paths_matching(home_of("codex"), pattern, last_first=True)


def find(session: str) -> list[Source]:
    """The subagents' rollouts are all younger than the session's own."""
    sources: list[Source] = []
    for path in islice(_rollouts(), LOOK_BACK):
        is_own = path.endswith(f"-{session}.jsonl")
        began = table_of(first_record(path).get("payload"))
        if is_own or _session_of(began) == session:
            agent = "" if is_own else text_of(began.get("id"))
            sources.append(source_of("codex", session, path, agent))
        if is_own:
            break
    return sorted(sources, key=lambda source: (source["agent"], source["path"]))


def of_path(path: str) -> list[Source]:
    began = table_of(first_record(path).get("payload"))
    session = _session_of(began) or os.path.basename(path)[-42:-6]
    found = find(session)
    if not any(source["path"] == path for source in found):
        found.insert(0, source_of("codex", session, path))
    return found


def _session_of(began: dict[str, Any]) -> str:
    return text_of(began.get("session_id")) or text_of(began.get("id"))


def _head_of_session(path: str, head: bytes) -> dict[str, Any]:
    """What a rollout says of itself in its first line; older ones name the folder further below."""
    if b"\n" not in head:
        head = read_piece(path, MOST_BYTES)
    line = head.partition(b"\n")[0]
    record = object_in(line)
    began = table_of(record.get("payload")) or record
    if not text_of(began.get("cwd")):
        head = read_piece(path, 16 * FIRST_BYTES)
        match = _OLD_CWD.search(head) or _CWD.search(head)
        began = {**began, "cwd": json_text(match[1]) if match else ""}
    return began


def _is_subagent(began: dict[str, Any]) -> bool:
    parent = text_of(began.get("session_id"))
    source = table_of(began.get("source"))
    return "subagent" in source or bool(parent and parent != began.get("id"))


def is_writer(record: dict[str, Any]) -> bool:
    if isinstance(record.get("payload"), dict) and text_of(record.get("type")) in _LINES:
        return True
    return "instructions" in record and "git" in record and bool(text_of(record.get("id")))


def session_at(path: str, modified: int) -> FoundSession:
    began = _head_of_session(path, read_piece(path, MOST_BYTES))
    session = text_of(began.get("id")) or os.path.basename(path).rpartition(".")[0][-36:]
    return found_session("codex", session, path, modified, text_of(began.get("cwd")))


def is_head(head: bytes) -> bool:
    """Whether a file begins with a first line of Codex that is longer than what was read."""
    return b'"type":"session_meta"' in head[:200]
