"""Where a run keeps what is not a record: its lease, its programs' notes and their output."""

from __future__ import annotations

import os
from contextlib import suppress

from holdfast.plans.rules import run as rules

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
        self._lack = os.path.join(self.own, "lack")

    def log(self, name: str) -> str:
        return os.path.join(self.logs, os.path.basename(name))

    def write_lack(self, text: str) -> None:
        """What the run's tasks wait for, for whoever looks while it is run; empty when nothing is lacking."""
        with suppress(OSError):  # said to the watcher, too; a full disk must not end the run
            if text:
                with open(self._lack, "w", encoding="utf-8") as file:
                    file.write(text)
            else:
                os.unlink(self._lack)

    def lack(self) -> str:
        try:
            with open(self._lack, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""
