"""Reconcile the views of a stream with the journal before anything is decided.

Our file is there, or a crash kept it away and it is put in place now, or an outside change (edited,
removed, broken) becomes records.
"""

from __future__ import annotations

import os
import stat

from holdfast.kernel import clock
from holdfast.kernel.stream_write import load
from holdfast.kernel.views import edits, move
from holdfast.kernel.views.asides import Asides
from holdfast.kernel.views.files import (
    Unreadable,
    content_digest,
    identity_of,
    read_file,
    text_of,
)
from holdfast.kernel.views.projection import put_in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict

    from holdfast.journal.interface import ViewRow
    from holdfast.kernel.stream_write import StreamWrite
    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import Workspace

    class Change(TypedDict):
        """What an editor did to a view. `base` is the version that the file showed, or UNKNOWN for a file that
        we never wrote, and `made_on` the one that they started from; `file` is where the edit waits, when not in its place, and
        `seen` what was taken in of that file before. `familiar` is the state that the editor has seen at
        least, None if that is not known. `is_older` says that the text is an older copy without any addition."""

        kind: Literal["edited", "removed", "broken"]
        path: str
        file: TreeFile | None
        seen: str
        text: str
        reason: str
        kept: str
        identity: str
        base: int
        made_on: int
        familiar: Any
        is_older: bool


UNKNOWN = -1


class Sighting:
    """What stands at a view's place now."""

    def __init__(self, workspace: Workspace, path: str) -> None:
        self.path = path
        self.asides = Asides(workspace, path)
        self.target = self.asides.target
        # The file that the last write displaced, the version it showed, and its identity then.
        self.displaced: TreeFile | None = None
        self.displaced_version = UNKNOWN
        self.expected: str | None = None
        self.found: str | None = None
        # The version that the file shows: later ones are in the journal, and not in it.
        self.shown = UNKNOWN
        self.placed = ""
        self.digest = ""
        self.blocked = ""


def look(
    workspace: Workspace, path: str, row: ViewRow | None, stream: str, now: int
) -> tuple[Sighting, list[Change]]:
    """One view's file against what the journal knows of it. Finishes a projection that a crash
    interrupted; everything else is reported as changes for the protocol to take in.

    The row may be another stream's. What that one put there is no edit; but an edit of it was made on
    a version that says nothing about this stream.
    """
    sighting = Sighting(workspace, path)
    target, asides = sighting.target, sighting.asides
    asides.take_over()
    seen = asides.survey()
    asides.remove_stale((row["placed"] if row else None) or "", seen)
    changes: list[Change] = []
    shown = UNKNOWN
    if row is not None and row["placed"] is not None:
        if _finish(sighting, row, row["placed"]):
            sighting.expected, shown = row["found"], row["placed_version"]
        else:
            sighting.expected, shown = row["placed"], row["found_version"]
        sighting.displaced = asides.displaced(row["placed"])
        sighting.displaced_version = row["found_version"]
        _look_at_displaced(sighting, row["placed"])
    is_ours = row is not None and row["stream"] == stream
    shown = sighting.shown = shown if is_ours else UNKNOWN
    for file, base in asides.edits():
        changes += _late(workspace, path, file, base if is_ours else UNKNOWN, now)
    sighting.found = identity_of(target)
    if row is not None:
        sighting.digest = row["digest"]
        if sighting.found is not None and sighting.found == row["placed"]:
            return sighting, changes
        if _was_cut_off(target, sighting.found, row):
            sighting.digest = ""  # to be written again
            return sighting, changes
        if sighting.found is None:
            if is_ours and row["placed"] is not None and not row["removed"]:
                changes.append(make_change("removed", path, row["placed"], shown))
            return sighting, changes
    if sighting.found is not None:
        changes += _read(workspace, sighting, row, shown, now)
    return sighting, changes


def _look_at_displaced(sighting: Sighting, placed: str) -> None:
    """Keep what was displaced as an edit, if it was written to since. What is no regular file stays where it
    is, for `doctor`."""
    file = sighting.displaced
    found = identity_of(file) if file is not None else None
    if file is None or found in (None, placed) or not file.is_file():
        return
    if found != sighting.expected:
        sighting.asides.keep(file, sighting.displaced_version)
    elif file == sighting.asides.staged(placed):  # a crash came right after the exchange
        sighting.displaced = sighting.asides.stow(file, placed.split(":")[2])


def _was_cut_off(target: TreeFile, found: str | None, row: ViewRow) -> bool:
    """Whether a power cut undid our last write: the file from before stands there again, the very
    same one, or ours without its content. An editor would have given it a time of its own."""
    if found is None or row["placed"] is None:
        return False
    if found == row["found"]:
        return not _was_put_back(target, row["placed"])
    return found.split(":")[:3] == row["placed"].split(":")[:3]


def _was_put_back(target: TreeFile, placed: str) -> bool:
    """Whether a person put the old file back: its name was changed after our write, and since this
    machine's boot. A power cut leaves it as it was, and is followed by a boot."""
    written = int(placed.split(":")[2])
    status = target.status()
    return status is not None and status.st_ctime_ns > max(written, clock.booted_at() * 1_000_000)


def _finish(sighting: Sighting, row: ViewRow, placed: str) -> bool:
    """Whether our file was put in place. One that still waits aside, with nothing else changed, is a
    crash before the exchange, and is put there now."""
    if row["removed"] or identity_of(sighting.asides.staged(placed)) != placed:
        return True
    if identity_of(sighting.target) != row["found"]:
        return False
    put_in_place(sighting.asides, placed, row["found"], row["found_version"])
    return True


def _late(workspace: Workspace, path: str, file: TreeFile, base: int, now: int) -> list[Change]:
    """An edit that reached a displaced file: at the exchange, or by an editor that held it open."""
    edits.wait_until_quiet(file)
    try:
        identity, content = read_file(file)
        text, seen = text_of(content), edits.seen(file)
    except Unreadable as problem:
        from holdfast.kernel.views import quarantine

        kept = quarantine.keep(workspace, file, now)
        identity = identity_of(file) or ""
        return [
            make_change("broken", path, identity, base, file=file, reason=str(problem), kept=kept)
        ]
    if text == seen:
        edits.settle(file, identity, text)
        return []
    change = make_change("edited", path, identity, base, file=file, text=text)
    change["seen"] = seen
    return [change]


def _read(
    workspace: Workspace, sighting: Sighting, row: ViewRow | None, shown: int, now: int
) -> list[Change]:
    path, seen = sighting.path, sighting.found or ""
    try:
        sighting.found, content = read_file(sighting.target)
        seen = sighting.found
        sighting.digest = content_digest(content)
        if row is not None and row["digest"] == sighting.digest and not row["removed"]:
            return []
        return [make_change("edited", path, seen, shown, text=text_of(content))]
    except FileNotFoundError:
        sighting.found = None
        return []
    except Unreadable as problem:
        if not _can_be_kept(sighting.target):
            sighting.blocked = str(problem)
            return []
        from holdfast.kernel.views import quarantine

        kept = quarantine.keep(workspace, sighting.target, now)
        sighting.digest = ""
        return [make_change("broken", path, seen, shown, reason=str(problem), kept=kept)]


def _can_be_kept(target: TreeFile) -> bool:
    status = target.status()
    if status is not None and stat.S_ISLNK(status.st_mode):
        return True
    try:
        os.close(target.open())
    except OSError:
        return False
    return True


def make_change(
    kind: Literal["edited", "removed", "broken"],
    path: str,
    identity: str,
    base: int,
    *,
    file: TreeFile | None = None,
    text: str = "",
    reason: str = "",
    kept: str = "",
) -> Change:
    """Return what an editor did; `base` is the version that the file showed."""
    return {
        "kind": kind,
        "path": path,
        "file": file,
        "seen": "",
        "text": text,
        "reason": reason,
        "kept": kept,
        "identity": identity,
        "base": base,
        "made_on": base,
        "familiar": None,
        "is_older": False,
    }


def reconcile(write: StreamWrite) -> None:
    """Look at every view, finish projections that a crash interrupted, take in outside changes."""
    write.sightings = {}
    paths = sorted(write.rows.keys() | write.rules.render(write.state).keys())
    if paths:
        move.finish(write.workspace, write.stream)
    for path in paths:
        row = write.rows.get(path)
        sighting, changes = look_at(write, path, row)
        if changes:
            _absorb(write, sighting, changes)
        was_removed = row is not None and row["removed"] and sighting.found is None
        if was_removed or any(change["kind"] == "removed" for change in changes):
            sighting.blocked = "" if write.order.raise_removed else "removed"
        write.sightings[path] = sighting


def _absorb(write: StreamWrite, sighting: Sighting, changes: list[Change]) -> None:
    from holdfast.kernel.views.absorb import absorb

    if write.is_remembered:
        load(write)  # an edit is taken into what is there, not into what we remember
    for position, change in enumerate(changes):
        absorb(write, sighting, change, is_last=position == len(changes) - 1)


def look_at(write: StreamWrite, path: str, row: ViewRow | None) -> tuple[Sighting, list[Change]]:
    """A view that cannot be looked at fails alone; the record does not depend on it."""
    if row is None:
        # A file can be shown by one stream after another, such as the progress of two sessions.
        rows = write.journal.views(worktree=write.workspace.root, path=path)
        row = rows[0] if rows else None
    try:
        return look(write.workspace, path, row, write.stream, write.now)
    except OSError as error:
        sighting = Sighting(write.workspace, path)
        sighting.blocked = error.strerror or str(error)
        return sighting, []


def absorb_unseen(write: StreamWrite) -> bool:
    """Look at the views that the new state shows for the first time. True when a file that we did
    not know of stood there, and was taken in."""
    is_absorbed = False
    for path in write.texts.keys() - write.sightings.keys():
        sighting, changes = look_at(write, path, None)
        write.sightings[path] = sighting
        if changes:
            _absorb(write, sighting, changes)
            is_absorbed = True
    return is_absorbed
