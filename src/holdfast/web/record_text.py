"""Records for people: one line each, with a tone, one page at a time; and the end of a program's output."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from holdfast import registry
from holdfast.kernel.plain_file import open_plain
from holdfast.kernel.workspace import Workspace
from holdfast.maintenance.record_text import describe_all, tone_of, word_of
from holdfast.web.table import link_to
from holdfast.web.workspaces import ServedWorkspace

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


NO_RECORDS: dict[str, Any] = {"records": [], "older": 0, "newer": 0, "total": 0}
MOST_TOLD = 40
MOST_BYTES = 6_000
# Colours and moves of a cursor; titles and links; all that begin with an escape.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")


def show_record(key: str, record: Record, text: str) -> dict[str, Any]:
    """A record of the workspace with this key, as a line. `tone` is `good`, `bad`, `wait` or empty; `href` is
    the page of its subject."""
    return {
        "seq": record["seq"],
        "id": record["id"],
        "stream": record["stream"],
        "subject": _subject(record["stream"]),
        "version": record["version"],
        "at": record["at"],
        "actor": record["actor"],
        "kind": record["kind"],
        "word": word_of(record),
        "what": text,
        "tone": tone_of(record),
        "href": link_to(key, record["stream"]),
    }


def _subject(stream: str) -> str:
    """Return what people call a stream: `session 022bdfed`, `track penalties`, `budget`."""
    kind, _, name = stream.partition(":")
    known = registry.kind_of(stream)
    word = (known.word if known is not None else "") or kind
    name = "" if name in ("default", "workspace") else name[:8] if kind == "session" else name
    return f"{word} {name}".strip()


def show_records(
    place: ServedWorkspace, stream: str, before: int | None = None, most: int = MOST_TOLD
) -> dict[str, Any]:
    """The newest records of a stream, or those before a version, newest first. `older` and `newer` are
    versions for the address: continue before them; 0 for none. It uses the index, so length does not
    matter."""
    workspace = place.workspace
    head = workspace.journal.head(stream) if workspace.exists() else None
    if head is None:
        return NO_RECORDS
    journal = workspace.journal
    newest, first = head["version"], head["anchor_version"]
    until = newest if before is None else max(first, min(before - 1, newest))
    after = max(first, until - most)
    found = journal.read(stream, after=after, limit=until - after) if until > after else []
    texts = describe_all(journal, found)
    return {
        "records": [
            show_record(place.key, record, texts[record["id"]]) for record in reversed(found)
        ],
        "older": after + 1 if after > first else 0,
        "newer": until + most + 1 if until < newest else 0,
        "total": newest - first,
    }


def read_last(workspace: Workspace, stream: str, most: int) -> list[Record]:
    """The last records of a stream, oldest first."""
    head = workspace.journal.head(stream) if workspace.exists() else None
    if head is None:
        return []
    return workspace.journal.read(stream, after=max(head["anchor_version"], head["version"] - most))


def read_end(path: str) -> str:
    """The last lines of a log; empty if the log is gone."""
    try:
        with os.fdopen(open_plain(path, follow=True), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MOST_BYTES))
            text = without_terminal_codes(file.read(MOST_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return ""
    return text if size <= MOST_BYTES else text.partition("\n")[2] or text


def without_terminal_codes(text: str) -> str:
    """A line without terminal colours; of an overwritten line, its last version."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
