"""Which track is meant, and where its files are."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

from holdfast.kernel.digest import digest
from holdfast.kernel.errors import NotAllowed, NotFound, Usage
from holdfast.kernel.views.files import target_of
from holdfast.loop.rules.loop import stream_of
from holdfast.loop.rules.model import HISTORY, METADATA, TRACKS

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


class TrackFolder:
    """A track's id, its folder in the worktree, and what holdfast keeps of it elsewhere."""

    def __init__(self, workspace: Workspace, track: str, folder: str = "") -> None:
        self.track = track
        self.stream = stream_of(track)
        # Relative to the workspace's root, as the view's path is.
        self.folder = folder or f"{TRACKS}/{track}"
        # Refuses a folder that is a link to somewhere else.
        self.metadata = target_of(workspace, f"{self.folder}/{METADATA}")
        self.root = os.path.dirname(self.metadata)
        self.history = os.path.join(self.root, HISTORY)
        known = digest(self.root.encode("utf-8", "surrogateescape")).hex()[:16]
        self.own = os.path.join(workspace.home, "loop", f"{track}-{known}")
        self.guard = os.path.join(self.own, "holder")
        self.logs = os.path.join(self.own, "logs")
        self.jobs = os.path.join(self.own, "jobs")

    def exists(self) -> bool:
        return os.path.isdir(self.root)


def chosen(
    workspace: Workspace, track: str | None, track_dir: str | None, metadata: str | None
) -> TrackFolder:
    """The track that the words of a call mean; without any, the only one there is."""
    for option, word in (("--track", track), ("--track-dir", track_dir), ("--metadata", metadata)):
        if word is not None and not word.strip():
            raise Usage(f"{option} is empty.", hint="Without it, the only track is meant.")
    folder = track_dir
    if metadata:
        if os.path.basename(metadata) != METADATA:
            raise Usage(f"--metadata is the path of a {METADATA}, not {metadata!r}.")
        folder = os.path.dirname(metadata) or "."
        if track_dir and os.path.abspath(track_dir) != os.path.abspath(folder):
            raise Usage(f"--metadata {metadata} is not in --track-dir {track_dir}.")
    if folder is None:
        return TrackFolder(workspace, track) if track else _only(workspace)
    place = os.path.realpath(folder)
    inside = os.path.relpath(place, workspace.root)
    if inside.startswith("..") or inside == ".":
        raise NotAllowed(
            f"{folder} is not a folder inside the workspace {workspace.root}.",
            kind="outside_workspace",
        )
    own = os.path.basename(place)
    if track and track != own:
        raise Usage(f"The track {track} is not in {folder}.", hint=f"--track {own}")
    return TrackFolder(workspace, own, inside.replace(os.sep, "/"))


def _only(workspace: Workspace) -> TrackFolder:
    found = listing(workspace)
    if len(found) == 1:
        return TrackFolder(workspace, found[0])
    if not found:
        raise NotFound(
            f"There is no track in {TRACKS}.",
            hint="holdfast loop start PLAN --track NAME begins one.",
        )
    raise Usage(
        f"Which of {len(found)} tracks?", hint="--track " + ", --track ".join(_shortened(found))
    )


def _shortened(names: list[str]) -> list[str]:
    return [*names[:8], "..."] if len(names) > 8 else names


def listing(workspace: Workspace) -> list[str]:
    """The tracks of this worktree, by name."""
    folder = os.path.join(workspace.root, *TRACKS.split("/"))
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [
        name
        for name in names
        if not name.startswith(".") and os.path.isdir(os.path.join(folder, name))
    ]


def missing(workspace: Workspace, place: TrackFolder) -> NotFound:
    """The refusal of a track that is not there, with the nearest that is."""
    known = listing(workspace)
    close = difflib.get_close_matches(place.track, known, n=1)
    hint = (
        f"Did you mean {close[0]}?" if close else f"holdfast loop start PLAN --track {place.track}"
    )
    return NotFound(f"There is no track {place.track}: no {place.folder}.", hint=hint)
