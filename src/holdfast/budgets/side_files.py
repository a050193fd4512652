"""The metrics of a budget, beside its views.

`.autopilot/state/metrics.jsonl` has one line for each level that a check found reached, only ever appended.
Lines are numbered; the next check appends from the journal what a crash left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.kernel.jsonl import LineFile
from holdfast.kernel.views.files import file_at
from holdfast.kernel.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record


METRICS = ".autopilot/state/metrics.jsonl"


def append_metrics(
    workspace: Workspace, stream: str, crossings: int, fresh: Sequence[Record]
) -> None:
    """Append the lines that are missing, of `crossings` in all. `fresh` are the newest records."""
    if not crossings:
        return
    with LineFile(file_at(workspace, METRICS), _is_metric) as file:
        last = file.last()
        number = last["number"] if last else 0
        if number == crossings:
            return
        missing = _lines(fresh)
        if not missing or missing[0]["number"] != number + 1:
            missing = _find_missing(file, workspace.journal, stream, number, crossings)
        if missing:
            file.append(missing)


def _find_missing(
    file: LineFile, journal: Journal, stream: str, number: int, crossings: int
) -> list[dict[str, Any]]:
    """By number; where the file has more than the journal, as after a restored backup, by record."""
    lines = _lines(journal.read(stream))
    if number < crossings:
        return [line for line in lines if line["number"] > number]
    known = {(line["record"], line["number"]) for line in file.all()}
    return [line for line in lines if (line["record"], line["number"]) not in known]


def _lines(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        {
            "number": one["number"],
            "at": record["body"]["at"],
            "type": one["type"],
            "level": one["level"],
            "value": one["value"],
            "threshold": one["threshold"],
            "handled": one["how"],
            "session_id": record["body"]["session"],
            "record": record["id"],
        }
        for record in records
        if record["kind"] == "checked" and record["body"] is not None
        for one in record["body"]["handled"]
    ]


def _is_metric(line: Any) -> bool:
    return isinstance(line.get("number"), int) and isinstance(line.get("record"), str)
