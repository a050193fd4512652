"""What stays on the disk after `uninstall`, and the command that removes each of it."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, TypedDict

from holdfast.clients.launcher import folder_of_user
from holdfast.git.repository import GitError
from holdfast.git.run import git
from holdfast.git.snapshot import REFS
from holdfast.journal.postgres.url import without_password
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import TOOL_FOLDER, user_folder, worktrees

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

PRIVATE_REFS = "refs/holdfast"


class Remain(TypedDict):
    """Something of ours that is left. `remove` is a command for a shell, or a sentence."""

    what: str
    path: str
    remove: str


def list_remains(workspace: Workspace) -> list[Remain]:
    """What is left of this workspace, the journal first."""
    found: list[Remain] = []
    for path in _views(workspace):
        found.append(_folder_or_file("a file that holdfast wrote for you", path))
    for root in worktrees(workspace):
        tool_folder = os.path.join(root, TOOL_FOLDER)
        if os.path.lexists(tool_folder) and tool_folder != workspace.home:
            found.append(_folder_or_file("commands that wait, and work files", tool_folder))
    refs = _private_refs(workspace)
    if refs:
        words = f"git for-each-ref --format='delete %(refname)' {PRIVATE_REFS}"
        command = f"{words} | git update-ref --stdin && git gc --prune=now"
        what = f"snapshots of the work tree ({refs})"
        found.append({"what": what, "path": REFS, "remove": command})
    if workspace.url:
        what, hint = "the journal on the server", "Ask the people who run that database."
        found.append({"what": what, "path": without_password(workspace.url), "remove": hint})
    if os.path.isdir(workspace.home):
        what = "work files of this repository"
        if workspace.exists():
            what = "the journal of all that happened, and its backups and quarantine"
        found.insert(0, _folder_or_file(what, workspace.home))
    if os.path.isdir(user_folder()):
        what = "what holdfast keeps for all your projects"
        found.append(_folder_or_file(what, user_folder()))
    if os.path.isdir(folder_of_user()):
        what = "the launcher of the hooks, for all your projects"
        found.append(_folder_or_file(what, folder_of_user()))
    return found


def _folder_or_file(what: str, path: str) -> Remain:
    word = "rm -r" if os.path.isdir(path) and not os.path.islink(path) else "rm"
    return {"what": what, "path": path, "remove": f"{word} {shlex.quote(path)}"}


def _views(workspace: Workspace) -> list[str]:
    """The files that show streams. A journal that cannot be read names none."""
    try:
        rows = workspace.journal.views() if workspace.exists() else []
    except HoldfastError:
        return []
    paths = (os.path.join(row["worktree"], row["path"]) for row in rows if not row["removed"])
    return [path for path in dict.fromkeys(paths) if os.path.lexists(path)]


def _private_refs(workspace: Workspace) -> int:
    if not workspace.git_dir:
        return 0
    try:
        return len(git(workspace.root, "for-each-ref", "--format=%(refname)", PRIVATE_REFS).split())
    except GitError:
        return 0
