"""Which agents of a fleet began on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.fleet import current_life
from holdfast.kernel import canonical_json
from holdfast.kernel.workspace import TOOL_FOLDER, worktrees

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def streams_begun_here(workspace: Workspace) -> set[str]:
    """The streams of the agents that began in a worktree of this machine."""
    found = set()
    for root in worktrees(workspace):
        folder = os.path.join(root, TOOL_FOLDER, current_life.FOLDER)
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found.add(str(canonical_json.loads(file.read())["stream"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue
    return found
