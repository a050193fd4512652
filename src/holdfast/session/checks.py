"""What `doctor` checks of sessions: a progress file that nobody asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.kernel.tree_file import TreeFile
from holdfast.parts import Check, accept, warn
from holdfast.session.ccc_files import path_of
from holdfast.session.progress_file import is_of_hooks_alone
from holdfast.session.rules.model import PROGRESS_FILE

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def check_progress_file(workspace: Workspace, now: int, fix: bool) -> Check:
    """Check for a progress file that hooks of an earlier version left where nobody uses the protocol. `fix` removes
    it: the journal has all that it says."""
    fine = "No progress file is here that only hooks wrote"
    path = path_of(workspace, PROGRESS_FILE)
    if not is_of_hooks_alone(workspace):
        return accept("progress file", fine)
    if fix:
        TreeFile(workspace.root, path).remove()
        return accept("progress file", fine, fixed=f"{path} was removed")
    return warn(
        "progress file",
        f"Only hooks wrote {path}, and `git add -A` would take it along.",
        why="Hooks no longer write it where nobody uses the CCC protocol. The journal has all that it says.",
        fix="holdfast doctor --fix",
    )
