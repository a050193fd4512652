"""Which machine an agent lives on, where several share one journal.

What an agent left on another machine's disk cannot be seen from here, and a path of that machine may well
be somebody else's folder on this one. A machine is known by the random name that stands beside the
workspace's lock; what people call it is only shown.
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
    """This machine, as a life that begins here says it; none where the journal is a file."""
    if not (workspace.spools if workspace.local else workspace.url):
        return None
    from holdfast.remote.identity import own_machine

    try:
        return {"id": own_machine(workspace), "name": os.uname().nodename[:LONGEST_NAME]}
    except OSError:
        return None


class Sight:
    """What can be seen from this machine. The question is asked of many agents, and answered from one
    look."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._id: str | None = None
        self._ahead: int | None = None

    @property
    def ahead(self) -> int:
        """How far the agreed time is ahead of this machine's own; a difference of seconds is none."""
        if self._ahead is None:
            from holdfast.remote.server_time import ahead

            found = ahead(self._workspace)
            self._ahead = found if abs(found) > MINUTE else 0
        return self._ahead

    def reaches(self, state: AgentState) -> bool:
        """Whether an agent's files are on this machine. A life from before there was a server has said
        nothing; it is taken for one of this machine."""
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
    """What each machine is called in a list, by its id: two of one name are told apart."""
    known = {machine["id"]: machine["name"] for machine in machines if machine}
    names = list(known.values())
    return {
        id: name if name and names.count(name) == 1 else f"{name or 'machine'} {id[:4]}"
        for id, name in known.items()
    }
