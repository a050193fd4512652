"""The list of this user's workspaces: `init` adds to it, and the page shows all of them on one board.

It is a small file in the user's state folder. `kernel.trust` reads it for journals of earlier versions.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable

from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.plain_file import write_synced
from holdfast.kernel.trust import WORKSPACES, listed_workspaces, notice_arrival
from holdfast.kernel.workspace import Workspace, discover, user_folder, worktrees

SCHEMA = 1


def remember(workspace: Workspace) -> None:
    """Add a workspace to the list; OSError if it cannot be written."""
    # Before: a listed workspace without a number is one of an earlier version, whose journal is this user's.
    with contextlib.suppress(HoldfastError):
        notice_arrival(workspace)
    root = _main_root(workspace)
    _change(lambda roots: roots if root in roots else [*roots, root])


def forget(workspace: Workspace) -> None:
    root = _main_root(workspace)
    if root in list_roots():
        _change(lambda roots: [one for one in roots if one != root])


def list_roots() -> list[str]:
    """Return the top folders of the listed workspaces that still exist."""
    return [root for root in listed_workspaces() if os.path.isdir(root)]


def workspaces(here: Workspace | None) -> tuple[list[Workspace], list[str]]:
    """Return the workspace here and all listed ones; and which of them are left out, and why."""
    found = [here] if here is not None else []
    left_out = []
    for root in list_roots():
        try:
            found.append(discover(root))
        except HoldfastError as error:
            left_out.append(f"{root} is left out: {error.message}")
    if not found:
        raise NotFound(
            "There is no workspace here, and `holdfast init` was run in none.",
            hint="Go to a project, or name one: --workspace DIR",
            kind="no_workspace",
        )
    return found, left_out


def _main_root(workspace: Workspace) -> str:
    """Return the main worktree's folder: a linked worktree may be gone tomorrow."""
    main = os.path.dirname(workspace.git_dir) if workspace.git_dir else workspace.root
    return main if main in worktrees(workspace) else workspace.root


def _change(change: Callable[[list[str]], list[str]]) -> None:
    place = user_folder()
    os.makedirs(place, 0o700, exist_ok=True)
    with WorkspaceLock(place):
        before = listed_workspaces()
        after = change(before)
        if after != before:
            text = json.dumps({"schema": SCHEMA, "workspaces": after}, indent=2)
            write_synced(os.path.join(place, WORKSPACES), text.encode() + b"\n")
