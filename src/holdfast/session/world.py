"""What is true around a session: HEAD, branch and work tree, as far as it is looked at."""

from __future__ import annotations

import os

from holdfast.git.head import read_head
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.views.files import Unreadable, content_digest, read_file
from holdfast.session.ccc_files import folder_of, read_state
from holdfast.session.rules.model import PROGRESS_FILE, STATE_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import World

MOST_FILES = 200
CONTROL_FILES = (PROGRESS_FILE, STATE_FILE, ".holdfast")


def head_now(workspace: Workspace) -> Any:
    """HEAD and branch, from the files alone; unknown where there is no git."""
    try:
        return read_head(workspace.root)
    except HoldfastError:
        return {"commit": None, "branch": None, "detached": False, "known": False}


def world_now(workspace: Workspace, head: Any) -> World:
    """What is true around a session, as far as files say; the work tree is not looked at."""
    world: World = {
        "worktree": workspace.root,
        "repository": workspace.home,
        "commit": head["commit"],
        "branch": head["branch"],
        "dirty": None,
        "dirty_files": [],
        "plan": _plan(workspace),
    }
    machine = workspace.machine
    return {**world, "machine": machine} if machine else world


def _plan(workspace: Workspace) -> str | None:
    """What the engine is to carry out: the number of tasks and the specification it follows.

    None where `.ccc-state.json` names no plan, or cannot be read.
    """
    try:
        state = read_state(workspace)
    except HoldfastError:
        return None
    named, total = state.get("specPath"), state.get("totalTasks")
    if not isinstance(named, str) and not isinstance(total, int):
        return None
    content = b""
    if isinstance(named, str):
        try:
            path = os.path.join(workspace.root, folder_of(workspace), named)
            _, content = read_file(path)
        except (OSError, Unreadable):
            content = b"cannot be read"
    return content_digest(f"{named}\0{total}\0".encode() + content)


def look_at_work_tree(workspace: Workspace, world: World, exclude: list[str]) -> None:
    """Ask git which files differ, and remember in what state they are."""
    from holdfast.git.errors import GitError
    from holdfast.git.status import digest_of, read_status

    try:
        changes = read_status(workspace.root, exclude=exclude)
        world["dirty"] = digest_of(workspace.root, changes)
        world["dirty_files"] = [change["path"] for change in changes[:MOST_FILES]]
    except GitError:
        return
