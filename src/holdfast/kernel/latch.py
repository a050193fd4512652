"""The latch: a stop that holds without the database.

A file in the workspace's home stops every worktree, one in a worktree's `.holdfast/` stops that
worktree: a sandboxed process can write only there. Hooks test both before anything else. The one in the tree
counts only if it is a regular file of this user that did not come with the repository.

Beside the latch stands `quiet`, which says that no stop is set and no alert waits: without it the launcher
of the hooks asks Python before each tool, and Python asks the records.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import from_os_error
from holdfast.kernel.plain_file import FULL, read_plain, write_synced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import Workspace

    class Latch(TypedDict):
        reason: str
        by: str
        at: str


LARGEST = 1 << 20
WITHOUT_REASON = "The latch is set without a reason; the disk was probably full."


def places(workspace: Workspace) -> tuple[str, str]:
    return f"{workspace.home}/latch", f"{workspace.tool_folder}/latch"


def _in_tree(workspace: Workspace) -> TreeFile:
    """Return the latch in the tree, whose folder may be swapped for a link meanwhile."""
    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import TOOL_FOLDER

    return TreeFile(workspace.root, f"{TOOL_FOLDER}/latch", is_strict=True)


def quiet_file(workspace: Workspace) -> str:
    return os.path.join(workspace.home, "quiet")


def disturb(workspace: Workspace) -> None:
    """Something may hold a session now: let the launcher of the hooks ask Python from here on."""
    try:
        os.unlink(quiet_file(workspace))
    except (FileNotFoundError, NotADirectoryError):
        return


def engage(workspace: Workspace, reason: str, *, by: str, now: int) -> list[str]:
    """Set the latch: in one place for all worktrees or, where that cannot be written, in each of them.
    The worktrees that it could not be set for, of which this one is never one."""
    from holdfast.kernel.text import harmless_json

    said = {"reason": reason, "by": by, "at": clock.precise(now)}
    text = harmless_json(canonical_json.dumps(said)).encode()
    everywhere, _ = places(workspace)
    try:
        os.makedirs(workspace.home, 0o700, exist_ok=True)
        _set(everywhere, text)
        disturb(workspace)
        return []
    except OSError:
        pass
    missed = []
    for each in _worktrees(workspace):
        try:
            each.prepare_tool_folder()
            _set_in_tree(_in_tree(each), text)
        except OSError:
            if each.root == workspace.root:
                raise
            missed.append(each.root)
    return missed


def _set(place: str, text: bytes) -> None:
    try:
        write_synced(place, text)
    except OSError as error:
        if error.errno not in FULL:
            raise
        # A name needs no room for data; one that was there keeps its reason.
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _set_in_tree(file: TreeFile, text: bytes) -> None:
    try:
        file.write(text, 0o600)
    except OSError as error:
        if error.errno not in FULL:
            raise
        try:
            os.close(file.create(0o600))
        except FileExistsError:
            return


def _worktrees(workspace: Workspace) -> list[Workspace]:
    """This worktree, and the others of the workspace."""
    from holdfast.kernel.workspace import worktrees

    others = [root for root in worktrees(workspace) if root != workspace.root]
    return [workspace, *map(workspace.at, filter(os.path.isdir, others))]


def read(workspace: Workspace) -> Latch | None:
    """The latch that holds, if one does. A file that cannot be understood still holds. The usual place
    is looked at, too, where HOLDFAST_HOME names another: an agent could name one."""
    usual = f"{workspace.git_dir}/holdfast/latch"
    home = places(workspace)[0]
    looked_at: list[str | TreeFile] = [home]
    if workspace.git_dir and usual != home:
        looked_at.append(usual)
    if _counts_in_tree(workspace):
        looked_at.append(_in_tree(workspace))
    for place in looked_at:
        try:
            content = read_plain(place, LARGEST) if isinstance(place, str) else place.read(LARGEST)
            text = content.decode(errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            return {"reason": f"The latch cannot be read: {error.strerror}.", "by": "", "at": ""}
        if not text:
            return {"reason": WITHOUT_REASON, "by": "", "at": ""}
        try:
            value = canonical_json.loads(text)
            return {"reason": str(value["reason"]), "by": str(value["by"]), "at": str(value["at"])}
        except (ValueError, KeyError, TypeError):
            return {"reason": "The latch is set; its text is damaged.", "by": "", "at": ""}
    return None


def _counts_in_tree(workspace: Workspace) -> bool:
    """Return whether the latch in the tree was set here: not by a link, not by another user, not by a clone."""
    import stat

    if not os.path.lexists(places(workspace)[1]):  # the usual case
        return False
    file = _in_tree(workspace)
    try:
        status = file.status()
    except OSError:
        return False
    if status is None or not stat.S_ISREG(status.st_mode):
        return False
    from holdfast.kernel.git_index import is_tracked

    return status.st_uid == os.geteuid() and not is_tracked(workspace.root, file.path)


def release(workspace: Workspace) -> bool:
    """Whether there was one to release."""
    released = False
    home = places(workspace)[0]
    in_trees = [_in_tree(each) for each in _worktrees(workspace) if _counts_in_tree(each)]
    removals = [lambda: os.unlink(home), *(one.remove for one in in_trees if str(one) != home)]
    for remove in removals:
        try:
            remove()
            released = True
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise from_os_error(error, "releasing the latch") from error
    return released
