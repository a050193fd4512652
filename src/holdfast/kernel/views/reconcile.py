"""Looking at the views before deciding: is our file there, did a crash keep it away, or did
somebody edit, remove or break it?"""

from __future__ import annotations

import os

from holdfast.kernel.views import quarantine
from holdfast.kernel.views.files import (
    Unreadable,
    content_digest,
    identity_of,
    read_file,
    target_of,
    text_of,
)
from holdfast.kernel.views.place import aside_of, put_in_place, raced_of, stem_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from holdfast.kernel.journal.interface import ViewRow
    from holdfast.kernel.workspace import Workspace

    class Change(TypedDict):
        """What somebody did to a view. `base` is the version that they were looking at."""

        kind: Literal["edited", "removed", "broken"]
        path: str
        text: str
        reason: str
        kept: str
        identity: str
        base: int


class Sighting:
    """What stands at a view's place now."""

    __slots__ = ("blocked", "digest", "displaced", "found", "path", "placed", "stem", "target")

    def __init__(self, path: str, target: str, stem: str) -> None:
        self.path = path
        self.target = target
        self.stem = stem
        self.displaced = ""
        self.found: str | None = None
        self.placed = ""
        self.digest = ""
        self.blocked = ""


def look(
    workspace: Workspace, path: str, row: ViewRow | None, version: int, now: int
) -> tuple[Sighting, list[Change]]:
    """One view's file against what the journal knows of it. Finishes a projection that a crash
    interrupted; everything else is reported as changes for the protocol to take in."""
    target = target_of(workspace, path)
    sighting = Sighting(path, target, stem_of(workspace, path, target))
    changes: list[Change] = []
    if row is not None and row["placed"] is not None:
        sighting.displaced = aside_of(sighting.stem, row["placed"])
        _finish(sighting, row, row["placed"])
        changes += _displaced(workspace, sighting, row, now)
    sighting.found = identity_of(target)
    if row is not None:
        sighting.digest = row["digest"]
        if sighting.found is not None and sighting.found == row["placed"]:
            return sighting, changes
        if sighting.found is None:
            if row["placed"] is not None and not row["removed"]:
                changes.append(_change("removed", path, row["placed"], version))
            return sighting, changes
    if sighting.found is not None:
        changes += _read(workspace, sighting, row, version, now)
    return sighting, changes


def _finish(sighting: Sighting, row: ViewRow, placed: str) -> None:
    """A staged file that still waits, with nothing else changed, is a crash before the exchange."""
    if row["removed"] or identity_of(sighting.displaced) != placed:
        return
    if identity_of(sighting.target) == row["found"]:
        put_in_place(sighting.target, sighting.stem, placed, row["found"])


def _displaced(workspace: Workspace, sighting: Sighting, row: ViewRow, now: int) -> list[Change]:
    """Edits that reached the displaced file: at the exchange, or by an editor that held it open."""
    raced = raced_of(sighting.stem)
    left = identity_of(sighting.displaced)
    if left is not None and left not in (row["found"], row["placed"]) and not os.path.exists(raced):
        os.rename(sighting.displaced, raced)
    if not os.path.lexists(raced):
        return []
    try:
        seen, content = read_file(raced)
        return [_change("edited", row["path"], seen, row["found_version"], text=text_of(content))]
    except Unreadable as problem:
        kept = quarantine.keep(workspace, raced, now)
        seen = identity_of(raced) or ""
        return [
            _change(
                "broken", row["path"], seen, row["found_version"], reason=str(problem), kept=kept
            )
        ]


def _read(
    workspace: Workspace, sighting: Sighting, row: ViewRow | None, version: int, now: int
) -> list[Change]:
    path, seen = sighting.path, sighting.found or ""
    try:
        sighting.found, content = read_file(sighting.target)
        seen = sighting.found
        sighting.digest = content_digest(content)
        if row is not None and row["digest"] == sighting.digest and not row["removed"]:
            return []
        return [_change("edited", path, seen, version, text=text_of(content))]
    except FileNotFoundError:
        sighting.found = None
        return []
    except Unreadable as problem:
        if not _can_be_kept(sighting.target):
            sighting.blocked = str(problem)
            return []
        kept = quarantine.keep(workspace, sighting.target, now)
        sighting.digest = ""
        return [_change("broken", path, seen, version, reason=str(problem), kept=kept)]


def _can_be_kept(target: str) -> bool:
    return os.path.islink(target) or (os.path.isfile(target) and os.access(target, os.R_OK))


def _change(
    kind: Literal["edited", "removed", "broken"],
    path: str,
    identity: str,
    base: int,
    *,
    text: str = "",
    reason: str = "",
    kept: str = "",
) -> Change:
    return {
        "kind": kind,
        "path": path,
        "text": text,
        "reason": reason,
        "kept": kept,
        "identity": identity,
        "base": base,
    }
