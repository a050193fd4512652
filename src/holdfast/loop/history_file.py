"""`checkpoint-history.jsonl`: every event of a track, one line each, appended and never rewritten.

It is made from the journal: what a crash kept from it, the next command appends. Lines are known by
the version and the id of their record.
"""

from __future__ import annotations

from holdfast.kernel.jsonl import LineFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.journal.interface import Journal, Record

# What others changed is told by its place alone: the values are in the journal.
_PLACES_ONLY = "edited_outside"


def catch_up(path: str, journal: Journal, stream: str, fresh: Sequence[Record]) -> None:
    """Append what is missing. `fresh` are the records of the command that was just done."""
    with LineFile(path, _is_event) as file:
        last = file.last()
        version = last["version"] if last else 0
        missing: Sequence[Record]
        if fresh and fresh[0]["version"] == version + 1:
            missing = fresh
        else:
            missing = _missing(file, journal, stream, version, last["id"] if last else "")
        if missing:
            file.append([line(record) for record in missing])


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


def _is_event(value: Any) -> bool:
    return isinstance(value.get("version"), int) and isinstance(value.get("id"), str)


def _missing(file: LineFile, journal: Journal, stream: str, version: int, id: str) -> list[Record]:
    """The records that have no line. Where the last line is not this journal's, as after a restored
    backup, all of them are looked for by their ids."""
    if version:
        beside = journal.read(stream, after=version - 1, limit=1)
        if not beside or beside[0]["id"] != id:
            known = {event["id"] for event in file.all()}
            return [record for record in journal.read(stream) if record["id"] not in known]
    return journal.read(stream, after=version)
