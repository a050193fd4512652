"""The epic: the folder with a fleet's files, and the names of its streams.

The same folder in another worktree of the repository is the same epic: its agents share their streams,
while each agent's files stay in the worktree where its life began.
"""

from __future__ import annotations

import os

from holdfast.fleet.rules.names import stem_of
from holdfast.kernel import config
from holdfast.kernel.errors import NotFound
from holdfast.kernel.workspace import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


class Epic:
    """One epic as one worktree has it."""

    __slots__ = ("folder", "workspace")

    def __init__(self, workspace: Workspace, folder: str) -> None:
        self.workspace = workspace
        # The path from the worktree's top, with `/`; empty for the top itself.
        self.folder = folder

    @property
    def root(self) -> str:
        """The epic's folder on disk."""
        return (
            os.path.join(self.workspace.root, self.folder) if self.folder else self.workspace.root
        )

    @property
    def name(self) -> str:
        return os.path.basename(self.root)

    def path(self, name: str) -> str:
        """The path of an epic's file from the worktree's top."""
        return f"{self.folder}/{name}" if self.folder else name

    def file(self, name: str) -> str:
        """The path of an epic's file on disk."""
        return os.path.join(self.root, name)

    def agent_stream(self, agent: str) -> str:
        return self.stream("agent", stem_of(agent))

    def stream(self, kind: str, name: str) -> str:
        return f"{kind}:{self.path(name)}"

    def in_worktree(self, root: str) -> Epic:
        """The same epic in another worktree; this one if that worktree is gone."""
        if root == self.workspace.root or not os.path.isdir(root):
            return self
        return Epic(self.workspace.at(root), self.folder)


def find(workspace: Workspace, named: str = "", *, base: str = "") -> Epic:
    """The epic with this path, seen from the folder `base`; else that of the setting, or the worktree.

    A path in another worktree of the repository names the same epic here: a handoff text has the path
    of the agent that wrote it, and an agent's files are in its own worktree.
    """
    if not named:
        journal = workspace.journal if workspace.exists() else None
        named = config.load(workspace, journal)["fleet.epic"]
        base = workspace.root
    else:
        base = base or os.getcwd()
    if not named:
        return Epic(workspace, "")
    place = os.path.realpath(os.path.join(base, os.path.expanduser(named)))
    if not os.path.isdir(place):
        raise NotFound(
            f"ERROR: Epic path not found: {place}",
            hint="Make the folder, or name another: --epic PATH",
        )
    top = workspace.root
    if place != top and not place.startswith(top + os.sep):
        other = workspace.at(place)
        top = other.root
        if top not in worktrees(workspace):
            workspace = other
    folder = os.path.relpath(place, top)
    return Epic(workspace, "" if folder == "." else folder.replace(os.sep, "/"))
