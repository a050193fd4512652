"""Where a run keeps what is not a record: its lease, its programs' notes and their output."""

from __future__ import annotations

import os

from holdfast.protocols.pilot.plan import run as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

FOLDER = "plans"


class Place:
    """The places of one run, outside the work tree."""

    def __init__(self, workspace: Workspace, id: str) -> None:
        self.id = id
        self.stream = rules.stream_of(id)
        self.own = os.path.join(workspace.home, FOLDER, id)
        self.lease = os.path.join(self.own, "run")
        self.jobs = os.path.join(self.own, "jobs")
        self.logs = os.path.join(self.own, "logs")

    def log(self, name: str) -> str:
        return os.path.join(self.logs, os.path.basename(name))
