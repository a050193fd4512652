"""`.autopilot/state/metrics.jsonl`: one line for each level that a check found reached, only ever
appended. Lines are numbered; what a crash kept back, the next check appends from the journal."""

from __future__ import annotations

import os

from holdfast.kernel.jsonl import LineFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.journal.interface import Journal, Record
    from holdfast.kernel.workspace import Workspace

PATH = ".autopilot/state/metrics.jsonl"


def catch_up(workspace: Workspace, stream: str, crossings: int, fresh: Sequence[Record]) -> None:
    """Append the lines that are missing, of `crossings` in all. `fresh` are the newest records."""
    if not crossings:
        return
    path = os.path.join(workspace.root, PATH)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with LineFile(path, _is_ours) as file:
        last = file.last()
        number = last["number"] if last else 0
        if number == crossings:
            return
        missing = _lines(fresh)
        if not missing or missing[0]["number"] != number + 1:
            missing = _missing(file, workspace.journal, stream, number, crossings)
        if missing:
            file.append(missing)


def _missing(
    file: LineFile, journal: Journal, stream: str, number: int, crossings: int
) -> list[dict[str, Any]]:
    """By number; where the file has more than the journal, as after a restored backup, by record."""
    lines = _lines(journal.read(stream))
    if number < crossings:
        return [line for line in lines if line["number"] > number]
    known = {(line["record"], line["number"]) for line in file.all()}
    return [line for line in lines if (line["record"], line["number"]) not in known]


def _lines(records: Sequence[Record]) -> list[dict[str, Any]]:
    found = []
    for record in records:
        if record["kind"] != "checked" or record["body"] is None:
            continue
        body = record["body"]
        for one in body["handled"]:
            found.append(
                {
                    "number": one["number"],
                    "at": body["at"],
                    "type": one["type"],
                    "level": one["level"],
                    "value": one["value"],
                    "threshold": one["threshold"],
                    "handled": one["how"],
                    "session_id": body["session"],
                    "record": record["id"],
                }
            )
    return found


def _is_ours(line: Any) -> bool:
    return isinstance(line.get("number"), int) and isinstance(line.get("record"), str)
