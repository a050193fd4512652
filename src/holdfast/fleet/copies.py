"""Copies of checkpoints that hold a text which must go: backups and archives."""

from __future__ import annotations

import os

from holdfast.fleet.rules.model import BACKUPS, CHECKPOINTS
from holdfast.fleet.rules.names import is_archive
from holdfast.kernel import canonical_json
from holdfast.kernel.views.files import Unreadable, read_file
from holdfast.kernel.workspace import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.kernel.workspace import Workspace


def copies_holding(workspace: Workspace, streams: Sequence[str], text: str) -> list[str]:
    """The copies beside the agents of these streams that hold a text, in all worktrees."""
    if not text:
        return []
    spelled = canonical_json.dumps(text)[1:-1].encode()
    folders = {_folder_of(stream) for stream in streams if stream.startswith("agent:")}
    return [
        path
        for root in worktrees(workspace)
        for folder in sorted(folders)
        for path in _copies(os.path.join(root, folder, CHECKPOINTS), os.path.basename(BACKUPS))
        if _holds(path, spelled)
    ]


def _folder_of(stream: str) -> str:
    return stream.partition(":")[2].rpartition("/")[0]


def _copies(checkpoints: str, backups: str) -> Iterator[str]:
    for folder in (checkpoints, os.path.join(checkpoints, backups)):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            is_copy = is_archive(name) if folder == checkpoints else name.endswith(".json")
            if is_copy:
                yield os.path.join(folder, name)


def _holds(path: str, spelled: bytes) -> bool:
    try:
        return spelled in read_file(path)[1]
    except (OSError, Unreadable):
        return False
