"""Looking at the views before deciding: is our file there, did a crash keep it away, or did
somebody edit, remove or break it?"""

from __future__ import annotations

import os

from holdfast.kernel.views import edits, quarantine
from holdfast.kernel.views.files import (
    Unreadable,
    content_digest,
    identity_of,
    read_file,
    target_of,
    text_of,
)
from holdfast.kernel.views.projection import aside_of, put_in_place, stem_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from holdfast.journal.interface import ViewRow
    from holdfast.kernel.workspace import Workspace

    class Change(TypedDict):
        """What somebody did to a view. `base` is the version that they were looking at, or UNKNOWN
        for a file that we never wrote; `file` is where the edit waits, when not in its place."""

        kind: Literal["edited", "removed", "broken"]
        path: str
        file: str
        text: str
        reason: str
        kept: str
        identity: str
        base: int


UNKNOWN = -1


class Sighting:
    """What stands at a view's place now."""

    __slots__ = (
        *("blocked", "digest", "displaced", "displaced_version", "expected"),
        *("found", "path", "placed", "stem", "target"),
    )

    def __init__(self, path: str, target: str, stem: str) -> None:
        self.path = path
        self.target = target
        self.stem = stem
        # The file that the last write displaced, the version it showed, and its identity then.
        self.displaced = ""
        self.displaced_version = UNKNOWN
        self.expected: str | None = None
        self.found: str | None = None
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
    target = target_of(workspace, path)
    sighting = Sighting(path, target, stem_of(workspace, path, target))
    changes: list[Change] = []
    shown = UNKNOWN
    if row is not None and row["placed"] is not None:
        sighting.displaced = aside_of(sighting.stem, row["placed"])
        if _finish(sighting, row, row["placed"]):
            sighting.expected, shown = row["found"], row["placed_version"]
        else:
            sighting.expected, shown = row["placed"], row["found_version"]
        sighting.displaced_version = row["found_version"]
        if identity_of(sighting.displaced) not in (None, sighting.expected):
            edits.keep(sighting.stem, sighting.displaced, row["found_version"])
    is_ours = row is not None and row["stream"] == stream
    shown = shown if is_ours else UNKNOWN
    for file, base in edits.waiting(sighting.stem):
        changes.append(_late(workspace, path, file, base if is_ours else UNKNOWN, now))
    sighting.found = identity_of(target)
    if row is not None:
        sighting.digest = row["digest"]
        if sighting.found is not None and sighting.found == row["placed"]:
            return sighting, changes
        if sighting.found is None:
            if is_ours and row["placed"] is not None and not row["removed"]:
                changes.append(_change("removed", path, row["placed"], shown))
            return sighting, changes
    if sighting.found is not None:
        changes += _read(workspace, sighting, row, shown, now)
    return sighting, changes


def _finish(sighting: Sighting, row: ViewRow, placed: str) -> bool:
    """Whether our file was put in place. One that still waits aside, with nothing else changed, is a
    crash before the exchange, and is put there now."""
    if row["removed"] or identity_of(sighting.displaced) != placed:
        return True
    if identity_of(sighting.target) != row["found"]:
        return False
    put_in_place(sighting.target, sighting.stem, placed, row["found"], row["found_version"])
    return True


def _late(workspace: Workspace, path: str, file: str, base: int, now: int) -> Change:
    """An edit that reached a displaced file: at the exchange, or by an editor that held it open."""
    edits.wait_until_quiet(file)
    try:
        seen, content = read_file(file)
        return _change("edited", path, seen, base, file=file, text=text_of(content))
    except Unreadable as problem:
        kept = quarantine.keep(workspace, file, now)
        seen = identity_of(file) or ""
        return _change("broken", path, seen, base, file=file, reason=str(problem), kept=kept)


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
        return [_change("edited", path, seen, shown, text=text_of(content))]
    except FileNotFoundError:
        sighting.found = None
        return []
    except Unreadable as problem:
        if not _can_be_kept(sighting.target):
            sighting.blocked = str(problem)
            return []
        kept = quarantine.keep(workspace, sighting.target, now)
        sighting.digest = ""
        return [_change("broken", path, seen, shown, reason=str(problem), kept=kept)]


def _can_be_kept(target: str) -> bool:
    return os.path.islink(target) or (os.path.isfile(target) and os.access(target, os.R_OK))


def _change(
    kind: Literal["edited", "removed", "broken"],
    path: str,
    identity: str,
    base: int,
    *,
    file: str = "",
    text: str = "",
    reason: str = "",
    kept: str = "",
) -> Change:
    return {
        "kind": kind,
        "path": path,
        "file": file,
        "text": text,
        "reason": reason,
        "kept": kept,
        "identity": identity,
        "base": base,
    }
