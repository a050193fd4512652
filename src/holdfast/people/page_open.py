"""Whether a page shows this workspace to its person now: a file beside the journal, which the page touches.

A hook looks at its time alone. What an agent could do to it is to let a client's question wait for a page that is not
there, while the client's own dialogue is open.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

NAME = "page-open"
# So often the page touches it; a time that is older than the second, or in the future, is of a page that was killed, or
# of a clock that jumped.
TOUCHED_EVERY, MAX_AGE = 10.0, 30.0


def note_open(workspace: Workspace) -> None:
    """Say that a page shows this workspace now."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(os.path.join(workspace.home, NAME), flags, 0o600)
    except OSError:  # a new workspace, or one that cannot be written
        return
    try:
        os.utime(descriptor)
    finally:
        os.close(descriptor)


def note_closed(workspace: Workspace) -> None:
    """Say that the page has ended. Another page of the same workspace says soon that it is open."""
    try:
        os.unlink(os.path.join(workspace.home, NAME))
    except OSError:
        return


def is_open(workspace: Workspace) -> bool:
    """Return whether a page shows this workspace now."""
    try:
        touched = os.lstat(os.path.join(workspace.home, NAME)).st_mtime
    except OSError:
        return False
    return abs(time.time() - touched) < MAX_AGE
