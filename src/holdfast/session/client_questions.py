"""Sessions whose client waits for its person: a permission, a question, an idle prompt, a limit.

One small file a session in the worktree, without the journal: it holds until the next event of that
session, which says that the person answered there.
"""

from __future__ import annotations

import os
from typing import TypedDict

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.plain_file import unlink_if_any, write_aside
from holdfast.kernel.workspace import Workspace, worktrees
from holdfast.session import client_process, session_files
from holdfast.session.session_files import list_small_files, read_texts


class WaitingSession(TypedDict):
    """`asks` is what the client asks, in one line; `at` is since when; `root` is the worktree."""

    client: str
    session: str
    event: str
    asks: str
    at: str
    root: str


FOLDER = "waiting"
NAMES = ("client", "session", "event", "asks", "at", "root")
# The event by which clients repeat, in general words, what they have just asked.
ECHO = "Notification"
# A client that was left open for longer waits for no person any more.
LONGEST = 2 * clock.DAY


def note(
    workspace: Workspace, *, client: str, session: str, event: str, asks: str, now: int
) -> bool:
    """Keep that a session waits; whether that is news. The first moment counts. A notification that follows
    a question says less than the question did."""
    path = path_of(workspace, session)
    known = read_texts(path, NAMES)
    is_echo = known is not None and event == ECHO and known["event"] != ECHO
    if known is not None and (known["asks"] == asks or is_echo):
        return False
    value = {
        "client": client,
        "session": session,
        "event": event,
        "asks": asks,
        "at": known["at"] if known is not None else clock.precise(now),
        "root": workspace.root,
    }
    workspace.prepare_private(FOLDER)
    write_aside(path, canonical_json.dumps(value).encode())
    return True


def path_of(workspace: Workspace, session: str) -> str:
    """The file of a session, whose id is safe for a path."""
    return os.path.join(workspace.private, FOLDER, session)


def forget(workspace: Workspace, session: str) -> None:
    """A person answered: the session waits no longer."""
    unlink_if_any(path_of(workspace, session))


def read(workspace: Workspace, session: str) -> WaitingSession | None:
    found: WaitingSession | None = read_texts(path_of(workspace, session), NAMES)
    return found


def list_waiting(workspace: Workspace, now: int) -> list[WaitingSession]:
    """The sessions of all worktrees that wait for a person, the longest first."""
    folders = [os.path.join(workspace.at(root).private, FOLDER) for root in worktrees(workspace)]
    kept = (read_texts(path, NAMES) for folder in folders for path in list_small_files(folder))
    found = [one for one in kept if one and _still_waits(workspace, one, now)]
    return sorted(found, key=lambda one: (one["at"], one["session"]))


def _still_waits(workspace: Workspace, one: WaitingSession, now: int) -> bool:
    if now - clock.parse(one["at"]) > LONGEST:
        return False
    from holdfast.processes.agent_process import process_state

    process = session_files.read(workspace, one["session"], client_process.NAME).get("process")
    try:
        return not isinstance(process, dict) or process_state(process) != "gone"  # type: ignore[arg-type]
    except (KeyError, TypeError, AttributeError):
        return True
