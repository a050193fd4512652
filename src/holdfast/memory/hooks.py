"""At a session's start or stop: let a process of its own keep what is new, a few times a day. At a prompt, and before a
file is edited: recall who edited it earlier.

The launcher starts Python for such a prompt or edit only where the file `recall` of the private folder has the name."""

from __future__ import annotations

import os

from holdfast.clients.launcher import folder_of_user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.kernel.workspace import Workspace

STAMP, INDEX = "memory/remembered", "memory/index.db"
# In the private folder: the files here that earlier sessions edited and that the session was not told of yet.
RECALL = "recall"
AGAIN_AFTER = 6 * 3600
DAYS, OFF = "HOLDFAST_MEMORY_KEEP_DAYS", ("0", "")


def remember_later(workspace: Workspace, session: str, now: int) -> str:
    """Start a process that reads what is new, unless one did so in the last hours. Nothing is said to the agent."""
    if not session or not workspace.exists():
        return ""
    if os.environ.get(DAYS, "1") not in OFF:
        keep_later(workspace.root, now)
    try:
        os.stat(os.path.join(folder_of_user(), INDEX))
    except OSError:
        return ""
    from holdfast.memory.earlier import list_recalled

    list_recalled(workspace, session)
    return ""


def keep_later(folder: str, now: int) -> bool:
    """Start the process for a folder, where it is due. Return whether it was started."""
    try:
        age = now / 1000 - os.stat(os.path.join(folder_of_user(), STAMP)).st_mtime
    except OSError:
        age = AGAIN_AFTER
    if 0 <= age < AGAIN_AFTER:
        return False
    from holdfast.processes.relaunch import command, leave

    return leave(command("-C", folder, "remember"))


def tell_pack(workspace: Workspace, since: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the section about earlier sessions; without an index, nothing is loaded for it."""
    if not os.path.isfile(os.path.join(folder_of_user(), INDEX)):
        return [], []
    from holdfast.memory.earlier import tell_pack as tell

    return tell(workspace, since)


def recall(workspace: Workspace, session: str, prompt: str, now: int) -> str:
    """Return what to tell the agent of earlier sessions; most prompts name no file, and load nothing."""
    if "." not in prompt or not os.path.isfile(os.path.join(folder_of_user(), INDEX)):
        return ""
    from holdfast.memory.earlier import recall_at_prompt

    return recall_at_prompt(workspace, session, prompt)


def recall_before_edit(workspace: Workspace, session: str, paths: Sequence[str]) -> str:
    """Return what to tell the agent of earlier sessions that edited these files."""
    if not os.path.isfile(os.path.join(workspace.private, RECALL)):
        return ""
    from holdfast.memory.earlier import recall_paths

    return recall_paths(workspace, session, paths)
