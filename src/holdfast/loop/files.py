"""The files of tracks that are no views: the history beside each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from holdfast.kernel.places import GC, ITSELF, YOU, Place
from holdfast.kernel.views.files import target_of
from holdfast.kernel.workspace import Workspace
from holdfast.loop.rules.model import HISTORY, METADATA
from holdfast.parts import Copies


def _find(workspace: Workspace, streams: Sequence[str], text: str) -> Iterator[str]:
    """Return the histories of these streams. The next command writes them again from the journal."""
    for stream in streams:
        for row in workspace.journal.views(worktree=workspace.root, stream=stream):
            history = os.path.join(os.path.dirname(target_of(workspace, row["path"])), HISTORY)
            if os.path.basename(row["path"]) == METADATA and os.path.isfile(history):
                yield history


def _list_beside(root: str, views: Sequence[str]) -> Iterator[str]:
    for path in views:
        if os.path.basename(path) == METADATA:
            yield os.path.join(root, os.path.dirname(path), HISTORY)


COPIES = Copies(find=_find, list_beside=_list_beside)
PLACES = [
    Place("home", "loop/*", "What the programs of tracks printed, and the leases of runners", "text", GC + ", outputs after `retention.days`"),
    Place("tree", "conductor/tracks/*/metadata.json", "The state of a track: a view of its stream", "JSON", YOU, is_read=True),
    Place("tree", "conductor/tracks/*/checkpoint-history.jsonl", "The events of a track, made from the journal", "JSON lines", YOU),
    Place("tree", "conductor/tracks/*/.metadata.lock*", "The protocol's lock of a track", "JSON", ITSELF),
]  # fmt: skip
