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

    from holdfast.kernel.workspace import Workspace

    class Latch(TypedDict):
        reason: str
        by: str
        at: str


LARGEST = 1 << 20
WITHOUT_REASON = "The latch is set without a reason; the disk was probably full."


def places(workspace: Workspace) -> tuple[str, str]:
    return f"{workspace.home}/latch", f"{workspace.tool_folder}/latch"


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
            _set(places(each)[1], text)
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


def _worktrees(workspace: Workspace) -> list[Workspace]:
    """This worktree, and the others of the workspace."""
    from holdfast.kernel.workspace import worktrees

    others = [root for root in worktrees(workspace) if root != workspace.root]
    return [workspace, *map(workspace.at, filter(os.path.isdir, others))]


def read(workspace: Workspace) -> Latch | None:
    """The latch that holds, if one does. A file that cannot be understood still holds. The usual place
    is looked at, too, where HOLDFAST_HOME names another: an agent could name one."""
    usual = f"{workspace.git_dir}/holdfast/latch"
    home, in_tree = places(workspace)
    looked_at = [home]
    if workspace.git_dir and usual != home:
        looked_at.append(usual)
    if _counts_in_tree(workspace):
        looked_at.append(in_tree)
    for place in looked_at:
        try:
            text = read_plain(place, LARGEST).decode(errors="replace")
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

    place = places(workspace)[1]
    try:
        status = os.lstat(place)
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode) or os.path.islink(workspace.tool_folder):
        return False
    from holdfast.kernel.git_index import is_tracked

    is_ours = status.st_uid == os.geteuid()
    return is_ours and not is_tracked(workspace.root, os.path.relpath(place, workspace.root))


def release(workspace: Workspace) -> bool:
    """Whether there was one to release."""
    released = False
    set_in = [places(workspace)[0]]
    set_in += [places(each)[1] for each in _worktrees(workspace) if _counts_in_tree(each)]
    for place in dict.fromkeys(set_in):
        try:
            os.unlink(place)
            released = True
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise from_os_error(error, "releasing the latch") from error
    return released
