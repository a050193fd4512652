"""Drafts, appends and rows for the examples, with the boring parts filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.journal.chain import verify
from holdfast.journal.interface import Append
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import new_id

if TYPE_CHECKING:
    from holdfast.journal.chain import ChainReport
    from holdfast.journal.interface import Draft, Effect, Journal, Record, ViewRow

NOON = clock.parse("2026-11-15T12:00:00Z")


def at(minutes: int) -> str:
    """So many minutes after noon."""
    return clock.precise(NOON + minutes * clock.MINUTE)


def draft(
    body: Any = None, *, kind: str = "noted", when: str = "", actor: str = "Ada", id: str = ""
) -> Draft:
    body = {"text": "a note"} if body is None else body
    return {
        "id": id or new_id(),
        "kind": kind,
        "body": body,
        "text": canonical_json.dumps(body),
        "at": when or at(0),
        "actor": actor,
    }


def drafts(count: int) -> list[Draft]:
    return [draft({"number": number}, when=at(number)) for number in range(count)]


def write(journal: Journal, stream: str, *what: Draft) -> list[Record]:
    """Append to a stream, whatever its version."""
    [receipt] = journal.commit([Append(stream, list(what) or [draft()], expected=None)])
    return receipt["records"]


def effect(key: str = "issue-1", *, kind: str = "comment", due: str = "", body: Any = "") -> Effect:
    return {
        "id": new_id(),
        "stream": "note:plan",
        "kind": kind,
        "key": key,
        "body": body,
        "queued_at": at(0),
        "due_at": due or at(0),
        "attempts": 0,
        "error": "",
    }


def view(path: str = ".notes/plan.md", *, worktree: str = "/w", digest: str = "aa") -> ViewRow:
    return {
        "worktree": worktree,
        "path": path,
        "stream": "note:plan",
        "found": None,
        "found_version": 0,
        "placed": "1:2:3:4",
        "placed_version": 1,
        "digest": digest,
        "removed": False,
    }


def ids(records: list[Record]) -> list[str]:
    return [record["id"] for record in records]


def finding(journal: Journal, stream: str) -> ChainReport:
    """What the check of the chains says of one stream."""
    [found] = [found for found in verify(journal) if found["stream"] == stream]
    return found
