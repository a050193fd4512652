"""One at a time: of all who begin or name something, and of the runs that have a plan file."""

from __future__ import annotations

import os
from contextlib import contextmanager

from holdfast.kernel.errors import Conflict
from holdfast.kernel.lock import WorkspaceLock
from holdfast.plans import lookup
from holdfast.plans.run_folder import FOLDER, Place
from holdfast.plans.run_stream import away
from holdfast.processes.lease import is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from holdfast.kernel.workspace import Workspace


@contextmanager
def one_at_a_time(workspace: Workspace) -> Iterator[None]:
    """Of two that begin the same plans at once, one finds the other's run; of two waypoints in one
    second, the second finds the first."""
    lock = WorkspaceLock(os.path.join(workspace.home, FOLDER))
    try:
        lock.acquire()
    except OSError as error:
        raise away() from error
    try:
        yield
    finally:
        lock.release()


def refuse_alive(workspace: Workspace, paths: Collection[str], *, but: str = "") -> None:
    """Two runs of one plan file would write over each other's work, whoever wanted both."""
    for state in lookup.unfinished(workspace):
        shared = [path for path in lookup.paths_of(state) if path in paths]
        if state["id"] == but or not shared:
            continue
        holder = is_held(Place(workspace, state["id"]).lease)
        if holder:
            raise Conflict(
                f"{shared[0]} is being run already: by the run {state['id']}, process {holder}.",
                hint=f"`holdfast plan show {state['id']}` shows it; let it end, or interrupt it.",
                kind="running",
            )
