"""The epic: the folder that holds a fleet's files, and the streams of what is in it.

The same folder in another worktree of the repository is the same epic: its agents share their
streams, while each agent's files stay in the worktree where it began.
"""

from __future__ import annotations

import os

from holdfast.fleet.rules.names import stem_of
from holdfast.kernel import config
from holdfast.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


class Epic:
    """One epic as one worktree has it."""

    __slots__ = ("folder", "workspace")

    def __init__(self, workspace: Workspace, folder: str) -> None:
        self.workspace = workspace
        # From the worktree's top to the epic, with `/`; empty when that is the top itself.
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
        """A file of the epic as the workspace calls it."""
        return f"{self.folder}/{name}" if self.folder else name

    def file(self, name: str) -> str:
        """Where a file of the epic is on disk."""
        return os.path.join(self.root, name)

    def agent_stream(self, agent: str) -> str:
        return self.stream("agent", stem_of(agent))

    def stream(self, kind: str, name: str) -> str:
        return f"{kind}:{self.path(name)}"

    def in_worktree(self, root: str) -> Epic:
        """The same epic in another worktree, as long as that is there; else this one."""
        if root == self.workspace.root or not os.path.isdir(root):
            return self
        return Epic(self.workspace.at(root), self.folder)


def find(workspace: Workspace, named: str = "", *, base: str = "") -> Epic:
    """The epic that is named, from the folder `base` on, that the setting names, or the worktree."""
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
    if place != workspace.root and not place.startswith(workspace.root + os.sep):
        workspace = workspace.at(place)
    folder = os.path.relpath(place, workspace.root)
    return Epic(workspace, "" if folder == "." else folder.replace(os.sep, "/"))
