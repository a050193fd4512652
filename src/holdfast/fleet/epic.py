"""The epic: the folder with a fleet's files, the names of its streams, and the machines of its agents.

The same folder in another worktree of the repository is the same epic: its agents share their streams. Their
files are in one place, the Epic Path: the folder in the Primary's worktree. An agent that works in another
worktree keeps a copy of its checkpoint there, because a sandboxed agent can write nowhere else.

When several machines share one journal, the files of another machine cannot be seen from here, and its
paths may be other folders on this one. A machine is known by the random id beside the workspace's lock; its
host name is only shown.
"""

from __future__ import annotations

import os

from holdfast.fleet.rules import agent as rules
from holdfast.fleet.rules.model import PRIMARY, checkpoint_path, stem_of
from holdfast.kernel import config
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.errors import NotFound
from holdfast.kernel.state import load
from holdfast.kernel.views.files import file_at
from holdfast.kernel.workspace import worktrees
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.fleet.rules.model import AgentState, Machine
    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import Workspace

# Characters of a host's name that are shown.
LONGEST_HOST = 40


class Epic:
    """One epic as one worktree has it."""

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

    def tree_file(self, name: str) -> TreeFile:
        """Return an epic's file, to be read or written; refused where it is outside of the work tree."""
        return file_at(self.workspace, self.path(name))

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

    A path in another worktree is the Epic Path: a handoff text has the one of the Primary.
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
        workspace = workspace.at(place)
        top = workspace.root
    folder = os.path.relpath(place, top)
    return Epic(workspace, "" if folder == "." else folder.replace(os.sep, "/"))


def find_home(epic: Epic, sight: Sight) -> Epic | None:
    """Return the epic in the Primary's worktree, with the files of all agents; None without a Primary here."""
    stream, path = epic.agent_stream(PRIMARY), epic.path(checkpoint_path(PRIMARY))
    if epic.workspace.exists():
        state: AgentState = load(epic.workspace.journal, rules, stream)[0]
        if state["worktree"]:
            is_there = sight.reaches(state) and os.path.isdir(state["worktree"])
            return epic.in_worktree(state["worktree"]) if is_there else None
    roots = [
        root for root in worktrees(epic.workspace) if os.path.lexists(os.path.join(root, path))
    ]
    return epic.in_worktree(roots[0]) if roots else None


# Machines that share a journal


def own_machine_of(workspace: Workspace) -> Machine | None:
    """This machine, for the record of a life that begins here; None when the journal is a file."""
    if not (workspace.spools if workspace.local else workspace.url):
        return None
    from holdfast.remote.identity import own_machine

    try:
        return {"id": own_machine(workspace), "name": os.uname().nodename[:LONGEST_HOST]}
    except OSError:
        return None


class Sight:
    """What can be seen from this machine; found out once for many agents."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._id: str | None = None
        self._ahead: int | None = None

    @property
    def ahead(self) -> int:
        """How far the shared time is ahead of this machine's clock; less than a minute counts as none."""
        if self._ahead is None:
            found = server_time.ahead(self._workspace)
            self._ahead = found if abs(found) > MINUTE else 0
        return self._ahead

    def reaches(self, state: AgentState) -> bool:
        """Whether an agent's files are on this machine. A life from before there was a server names no
        machine, and counts as one of this machine."""
        machine = state.get("machine")
        if not machine:
            return True
        if self._id is None:
            from holdfast.remote.identity import machine_of

            self._id = machine_of(self._workspace)
        return machine["id"] == self._id


def machine_name(state: AgentState) -> str:
    machine = state.get("machine")
    return machine["name"] if machine else ""


def machine_labels(machines: Iterable[Machine | None]) -> dict[str, str]:
    """A name for each machine in a list, by its id; machines of the same name get part of their id."""
    known = {machine["id"]: machine["name"] for machine in machines if machine}
    names = list(known.values())
    return {
        id: name if name and names.count(name) == 1 else f"{name or 'machine'} {id[:4]}"
        for id, name in known.items()
    }
