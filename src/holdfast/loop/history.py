"""What happened on a track: its events, its attempts, and what their programs printed.

`checkpoint-history.jsonl` has every event, one line each, appended and never rewritten. It is made from the
journal: the next command appends what a crash left out. The version and the id of a record identify its
line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel.errors import NotFound
from holdfast.kernel.jsonl import LineFile
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.files import Unreadable, read_file

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record
    from holdfast.loop.track import Track

# Of an outside edit only the places are printed: the values are in the journal.
_PLACES_ONLY = "edited_outside"


class Attempt(TypedDict):
    """One program that a run started for a track."""

    number: int
    step: str
    task: str
    program: str
    log: str
    at: str
    exit_code: int | None


def catch_up(side: TreeFile, journal: Journal, stream: str, fresh: Sequence[Record]) -> None:
    """Append what is missing. `fresh` are the records of the command that was just done."""
    with LineFile(side, _is_event) as file:
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
    hidden = ("changes", "order", "state", "conflicts")
    said = {name: value for name, value in body.items() if name not in hidden}
    if record["kind"] == _PLACES_ONLY:
        said["changed"] = ["/".join(map(str, change[1])) for change in body.get("changes", [])]
        if body.get("conflicts"):
            said["conflicts"] = [one["place"] for one in body["conflicts"]]
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


def read_records(track: Track) -> list[Record]:
    """Every record of a track, the oldest first."""
    exists = track.workspace.exists()
    return track.workspace.journal.read(track.place.stream) if exists else []


def find_attempts(records: Sequence[Record]) -> list[Attempt]:
    """Return the programs that these records tell of, oldest first."""
    found: dict[str, Attempt] = {}
    for record in records:
        body = record["body"] if isinstance(record["body"], dict) else {}
        if record["kind"] == "attempt_begun":
            facts = {name: body[name] for name in ("number", "step", "task", "program", "log")}
            found[body["log"]] = {**facts, "at": record["at"], "exit_code": None}  # type: ignore[typeddict-item]
        ended = body.get("attempt")
        if isinstance(ended, dict) and ended.get("log") in found:
            found[ended["log"]]["exit_code"] = ended["exit_code"]
    return list(found.values())


def read_log(track: Track, number: int | None) -> tuple[Attempt, str]:
    """One attempt and its output; without a number the last that was begun."""
    known = find_attempts(read_records(track))
    fitting = [one for one in known if number is None or one["number"] == number]
    if not fitting:
        what = "no attempt yet" if number is None else f"no attempt {number}"
        raise NotFound(
            f"The track {track.place.track} has {what}.",
            hint="Attempts are made by `holdfast loop run`.",
        )
    chosen = fitting[-1]
    path = track.place.log(chosen["log"])
    try:
        return chosen, read_file(path)[1].decode("utf-8", "replace").replace("\r\n", "\n")
    except (FileNotFoundError, Unreadable):
        raise NotFound(
            f"The output of attempt {chosen['number']} is not there any more.",
            hint="`holdfast gc` removes outputs that are older than `retention.days`.",
        ) from None
