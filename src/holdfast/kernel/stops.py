"""What holds the agents of a workspace, in words: a stop, who lifts it, and where else one may be set."""

from __future__ import annotations

import os

from holdfast import registry
from holdfast.kernel import latch
from holdfast.kernel.errors import Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.latch import Latch
    from holdfast.kernel.workspace import Workspace

RELEASE = "holdfast release"


def words(stopped: Latch) -> str:
    """Return the text for an agent."""
    by = f" ({stopped['by']})" if stopped["by"] else ""
    return f"Stop now, checkpoint: {stopped['reason']}{by}"


def lifted_by(stopped: Latch) -> str:
    """Return the command with which a person lifts this stop."""
    for feature in registry.features():
        if stopped["by"] in feature.lifts:
            return feature.lifts[stopped["by"]]
    return RELEASE


def refuse_stopped(workspace: Workspace, saved: str = "") -> None:
    """Raise Stopped (exit 7) while a stop holds; `saved` says what was kept first."""
    stopped = latch.read(workspace)
    if stopped is not None:
        raise Stopped(
            f"{words(stopped)}.{f' {saved}' if saved else ''}",
            hint=f"Checkpoint and wait; a person lifts it with: {lifted_by(stopped)}",
        )


def find_own_home(workspace: Workspace) -> Workspace | None:
    """Return the workspace with the repository's own home, where HOLDFAST_HOME names another and the own one has
    a journal: an agent could name one, and what holds there still holds."""
    from holdfast.kernel.workspace import Workspace as Place

    if workspace.git_dir:
        home = f"{workspace.git_dir}/holdfast"
    else:
        from holdfast.kernel.project_home import find
        from holdfast.kernel.workspace import user_folder

        home = find(workspace.root, user_folder())
    if workspace.home == home or os.path.islink(home):
        return None
    own = Place(workspace.root, git_dir=workspace.git_dir, home=home, local=True)
    return own if own.exists() else None
