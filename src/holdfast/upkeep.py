"""Looking after a workspace: its writer, retention, and the erasing of secrets."""

from __future__ import annotations

import os

from holdfast.kernel import clock, config, jsontext
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.journal.find import find_record
from holdfast.kernel.state import fold, load
from holdfast.subjects import subject_of
from holdfast.writing import writer_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.journal.interface import Journal, Record
    from holdfast.kernel.workspace import Workspace

    class Freed(TypedDict):
        """What `gc` removed and gave back."""

        records: int
        streams: int
        quarantined: int
        leftovers: int
        bytes: int

    class Purged(TypedDict):
        """What `purge` erased."""

        records: list[str]
        rows: int
        quarantined: list[str]
        streams: list[str]


PURGED = "[purged]"
LEFTOVER_AGE = clock.DAY


def collect(workspace: Workspace, now: int, *, dry_run: bool = False) -> Freed:
    """Retention and compaction: snapshots first, so that every state outlives its records."""
    from holdfast.kernel.journal import upkeep
    from holdfast.kernel.views import quarantine

    journal = workspace.journal
    settings = config.load(workspace, journal)
    before = clock.precise(now - settings["retention.days"] * clock.DAY)
    keep = settings["retention.keep"]
    if dry_run:
        return _would_free(journal, before, keep)
    with workspace.lock():
        for head in journal.heads():
            first = journal.read(head["stream"], after=head["anchor_version"], limit=1)
            is_old = bool(first) and first[0]["at"] < before
            if is_old and head["version"] - head["anchor_version"] > keep:
                state, _ = load(journal, subject_of(head["stream"]), head["stream"])
                journal.snapshot(head["stream"], head["version"], state)
        collected = journal.collect(before=before, keep=keep)
        removed = quarantine.clear(workspace, now - settings["quarantine.days"] * clock.DAY)
        leftovers = _remove_leftovers(workspace, now)
        freed = upkeep.compact(journal)
    return {
        "records": collected["records"],
        "streams": collected["streams"],
        "quarantined": removed,
        "leftovers": leftovers,
        "bytes": freed,
    }


def _would_free(journal: Journal, before: str, keep: int) -> Freed:
    records = streams = 0
    for head in journal.heads():
        old = 0
        for record in journal.read(head["stream"], after=head["anchor_version"]):
            if record["at"] >= before or record["version"] > head["version"] - keep:
                break
            old += 1
        records += old
        streams += bool(old)
    return {"records": records, "streams": streams, "quarantined": 0, "leftovers": 0, "bytes": 0}


def leftovers(workspace: Workspace, now: int) -> list[str]:
    """Files aside that no view knows and that are older than a day: crashes left them."""
    folder = os.path.join(workspace.tool_folder, "views")
    known = {
        (row["placed"] or "").split(":")[2]
        for row in workspace.journal.views(worktree=workspace.root)
        if row["placed"]
    }
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        path = os.path.join(folder, name)
        is_old = os.lstat(path).st_mtime * 1000 < now - LEFTOVER_AGE
        if is_old and not name.endswith(".edited") and name.rpartition(".")[2] not in known:
            found.append(path)
    return found


def _remove_leftovers(workspace: Workspace, now: int) -> int:
    old = leftovers(workspace, now)
    for path in old:
        os.unlink(path)
    return len(old)


def purge(
    workspace: Workspace, *, id: str = "", text: str = "", now: int, dry_run: bool = False
) -> Purged:
    """Erase one record's body, or a text wherever it stands: bodies, states, what waits, quarantine."""
    from holdfast.kernel.journal import upkeep

    journal = workspace.journal
    with workspace.lock():
        records = [find_record(journal, id)] if id else _containing(journal, text)
        quarantined = _quarantined_with(workspace, text) if text else []
        streams = sorted({record["stream"] for record in records} | _states_with(journal, text))
        purged: Purged = {
            "records": [record["id"] for record in records],
            "rows": 0,
            "quarantined": quarantined,
            "streams": streams,
        }
        if dry_run:
            return purged
        # The states first: once a body is gone, a state can no longer be made from it.
        states = {stream: _state_without(journal, stream, id, text) for stream in streams}
        purged["rows"] = journal.scrub(text, PURGED) if text else 0
        journal.erase(purged["records"])
        for stream, (version, state) in states.items():
            journal.snapshot(stream, version, state)
        for path in quarantined:
            os.unlink(path)
        # Rewrites the file, so that the freed pages hold nothing any more.
        upkeep.compact(journal, always=True)
    writer = writer_of(workspace)
    for stream in streams:
        writer.repair(stream, now=now)
    return purged


def _containing(journal: Journal, text: str) -> list[Record]:
    spelled = jsontext.dumps(text)[1:-1]
    found, last = [], 0
    while batch := journal.since(last):
        found += [record for record in batch if spelled in jsontext.dumps(record["body"])]
        last = batch[-1]["seq"]
    return found


def _states_with(journal: Journal, text: str) -> set[str]:
    if not text:
        return set()
    spelled = jsontext.dumps(text)[1:-1]
    return {
        head["stream"]
        for head in journal.heads()
        if spelled in jsontext.dumps(journal.load(head["stream"])["snapshot"])
    }


def _state_without(journal: Journal, stream: str, id: str, text: str) -> tuple[int, object]:
    subject = subject_of(stream)
    state, head = load(journal, subject, stream)
    assert head is not None
    if text:
        spelled = jsontext.dumps(text)[1:-1]
        return head["version"], jsontext.loads(jsontext.dumps(state).replace(spelled, PURGED))
    if head["anchor_version"] > 0:
        raise HoldfastError(
            f"{stream} cannot be made anew without that record: earlier ones were removed by `gc`.",
            hint="Erase the text itself instead: `holdfast purge --matching`.",
            kind="collected",
        )
    others = [record for record in journal.read(stream) if record["id"] != id]
    return head["version"], fold(subject, subject.initial(stream), others)


def _quarantined_with(workspace: Workspace, text: str) -> list[str]:
    from holdfast.kernel.views import quarantine

    wanted, found = text.encode(), []
    for path in quarantine.listing(workspace):
        with open(path, "rb") as file:
            tail = b""
            while chunk := file.read(1 << 20):
                if wanted in tail + chunk:
                    found.append(path)
                    break
                tail = chunk[-len(wanted) :]
    return found
