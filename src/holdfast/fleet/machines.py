"""The machine that an agent lives on, when several share one journal.

The files of another machine cannot be seen from here, and its paths may be other folders on this one. A
machine is known by the random id beside the workspace's lock; its host name is only shown.
"""

from __future__ import annotations

import os

from holdfast.kernel.clock import MINUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.fleet.rules.model import AgentState, Machine
    from holdfast.kernel.workspace import Workspace

LONGEST_NAME = 40


def own(workspace: Workspace) -> Machine | None:
    """This machine, for the record of a life that begins here; None when the journal is a file."""
    if not (workspace.spools if workspace.local else workspace.url):
        return None
    from holdfast.remote.identity import own_machine

    try:
        return {"id": own_machine(workspace), "name": os.uname().nodename[:LONGEST_NAME]}
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
            from holdfast.remote.server_time import ahead

            found = ahead(self._workspace)
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


def name_of(state: AgentState) -> str:
    machine = state.get("machine")
    return machine["name"] if machine else ""


def labels(machines: Iterable[Machine | None]) -> dict[str, str]:
    """A name for each machine in a list, by its id; machines of the same name get part of their id."""
    known = {machine["id"]: machine["name"] for machine in machines if machine}
    names = list(known.values())
    return {
        id: name if name and names.count(name) == 1 else f"{name or 'machine'} {id[:4]}"
        for id, name in known.items()
    }
