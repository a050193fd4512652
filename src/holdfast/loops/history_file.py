"""`checkpoint-history.jsonl`: every event of a track, one line each, appended and never rewritten.

It is made from the journal: what a crash kept from it, the next command appends. Lines are known by
the version and the id of their record.
"""

from __future__ import annotations

import os

from holdfast.kernel import jsontext
from holdfast.kernel.disk import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.kernel.journal.interface import Journal, Record

# Enough for the last line, unless somebody wrote a very long note.
TAIL = 4096
# What others changed is told by its place alone: the values are in the journal.
_PLACES_ONLY = "edited_outside"


def catch_up(path: str, journal: Journal, stream: str, fresh: Sequence[Record]) -> None:
    """Append what is missing. `fresh` are the records of the command that was just done."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o666)
    try:
        version, id, torn = _last(descriptor)
        lines: Sequence[Record]
        if fresh and fresh[0]["version"] == version + 1:
            lines = fresh
        else:
            lines = _missing(descriptor, journal, stream, version, id)
        if lines:
            text = "".join(f"{_text(record)}\n" for record in lines)
            # What a crash cut off stays a line of its own, which no reader takes for an event.
            write_all(descriptor, ("\n" + text if torn else text).encode())
    finally:
        os.close(descriptor)


def _text(record: Record) -> str:
    import json

    return json.dumps(line(record), ensure_ascii=False)


def line(record: Record) -> dict[str, Any]:
    """One event as it is kept beside the track."""
    body = record["body"] if isinstance(record["body"], dict) else {}
    said = {
        name: value for name, value in body.items() if name not in ("changes", "order", "state")
    }
    if record["kind"] == _PLACES_ONLY:
        said["changed"] = ["/".join(map(str, change[1])) for change in body.get("changes", [])]
    after = _status_in(body.get("changes", []))
    return {
        "version": record["version"],
        "id": record["id"],
        "at": record["at"],
        "actor": record["actor"],
        "event": record["kind"],
        **({"status": after} if after else {}),
        **said,
    }


def _status_in(changes: Sequence[Any]) -> str:
    """The status that a step has after these changes, if they gave it one."""
    for kind, place, *given in changes:
        if kind == "put" and place[:2] == ["loop_state", "checkpoints"] and "status" in given[0]:
            return str(given[0]["status"])
    return ""


def _last(descriptor: int) -> tuple[int, str, bool]:
    """Version and id of the last whole line, and whether something torn stands after it."""
    size = os.fstat(descriptor).st_size
    length = TAIL
    while size:
        text = os.pread(descriptor, length, max(size - length, 0))
        for piece in reversed(text.split(b"\n")[:-1]):
            event = _event(piece)
            if event is not None:
                return event["version"], event["id"], not text.endswith(b"\n")
        if length >= size:
            return 0, "", not text.endswith(b"\n")
        length *= 4
    return 0, "", False


def _event(piece: bytes) -> Any:
    try:
        event = jsontext.loads(piece.decode())
        return event if isinstance(event["version"], int) and isinstance(event["id"], str) else None
    except (ValueError, KeyError, TypeError):
        return None


def _missing(descriptor: int, journal: Journal, stream: str, version: int, id: str) -> list[Record]:
    """The records that have no line. Where the last line is not this journal's, as after a restored
    backup, all of them are looked for by their ids."""
    if version:
        beside = journal.read(stream, after=version - 1, limit=1)
        if not beside or beside[0]["id"] != id:
            known = {event["id"] for event in _all(descriptor)}
            return [record for record in journal.read(stream) if record["id"] not in known]
    return journal.read(stream, after=version)


def _all(descriptor: int) -> list[Any]:
    size = os.fstat(descriptor).st_size
    pieces = os.pread(descriptor, size, 0).split(b"\n")
    return [event for event in map(_event, pieces) if event is not None]
