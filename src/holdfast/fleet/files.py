"""The files of agents that are no views: the backups and archives of their checkpoints, and archived messages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from holdfast.fleet.rules.model import BACKUPS, CHECKPOINTS, is_archive
from holdfast.kernel.erased_text import is_in_file, list_bytes
from holdfast.kernel.places import ITSELF, YOU, Place
from holdfast.kernel.workspace import Workspace, worktrees
from holdfast.parts import Copies


def _find(workspace: Workspace, streams: Sequence[str], text: str) -> Iterator[str]:
    """Return the backups and archives of all agents that hold a text, in all worktrees."""
    wanted = list_bytes(text)
    names = [head["stream"] for head in workspace.journal.heads("agent:")] if wanted else []
    folders = sorted({name.partition(":")[2].rpartition("/")[0] for name in names})
    for root in worktrees(workspace):
        for folder in folders:
            copies = _list_copies(os.path.join(root, folder))
            yield from (path for path in copies if is_in_file(path, wanted))


def _list_copies(epic_root: str) -> Iterator[str]:
    """Return the backups and archives of an epic's agents."""
    for folder in (CHECKPOINTS, BACKUPS):
        place = os.path.join(epic_root, folder)
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else []:
            if is_archive(name) if folder == CHECKPOINTS else name.endswith(".json"):
                yield os.path.join(place, name)


def _list_beside(root: str, views: Sequence[str]) -> Iterator[str]:
    folders = {os.path.dirname(path) for path in views}
    for folder in folders:
        if os.path.basename(folder) == CHECKPOINTS:
            yield from _list_copies(os.path.join(root, os.path.dirname(folder)))


COPIES = Copies(find=_find, list_beside=_list_beside, archives=["agent_comms"])
PLACES = [
    Place("private", "lives/*", "Which life of an agent a session is", "JSON", ITSELF),
    Place("tool", "lives/*", "The same, where hooks may not write their folder", "JSON", ITSELF),
    Place("tree", "*agent_checkpoints/*.json", "Checkpoints of agents: views; the last ten backups of each, and archives", "JSON", YOU, is_read=True),
    Place("tree", "*agent_comms/*", "Messages between agents: views, and archives", "Markdown", YOU),
    Place("tree", "*EPIC_README.md", "The roster of an epic; between its marks only", "Markdown", YOU),
    Place("tree", "*/STATUS", "The state of a feature's agent: a view", "lines", YOU),
    Place("tree", "*.epic_locks/*", "The lock of that file", "empty", YOU),
]  # fmt: skip
