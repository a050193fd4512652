"""Where you are, and what to do next: the sessions found here, what waits, and one command."""

from __future__ import annotations

from typing import TypedDict

from holdfast.clients.condition import clients_with_ours
from holdfast.clients.installation import detect, server
from holdfast.clients.table import CLIENTS
from holdfast.git.repository import read_head
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import reads_offline
from holdfast.kernel.workspace import Workspace
from holdfast.maintenance import known_roots
from holdfast.maintenance.status import ShownAttention, list_attention, show
from holdfast.session.session_list import (
    ListedSession,
    command_to_resume,
    first_to_resume,
    list_sessions,
)

MOST_SESSIONS = 3


class Overview(TypedDict):
    """`branch` is empty without git. `set_up` says whether `init` was run here, `clients` for which
    clients. `next` is the one command to type, `why` says what it does."""

    folder: str
    is_workspace: bool
    branch: str
    set_up: bool
    clients: list[str]
    sessions: list[ListedSession]
    attention: list[ShownAttention]
    next: str
    why: str


@reads_offline
def gather(workspace: Workspace | None, folder: str, *, now: int) -> Overview:
    """Return what holdfast sees here. Nothing is written."""
    sessions = list_sessions(
        workspace.root if workspace else folder, workspace, most=MOST_SESSIONS, now=now
    )
    waits = _waits(workspace)
    has_init = workspace is not None and workspace.root in known_roots.list_roots()
    clients = clients_with_ours(workspace, server()) if workspace is not None and has_init else []
    next, why = _next(workspace is not None, sessions, waits, has_init, clients)
    return {
        "folder": workspace.root if workspace else folder,
        "is_workspace": workspace is not None,
        "branch": _branch(workspace),
        "set_up": has_init,
        "clients": clients,
        "sessions": sessions,
        "attention": waits,
        "next": next,
        "why": why,
    }


def _waits(workspace: Workspace | None) -> list[ShownAttention]:
    if workspace is None:
        return []
    try:
        return [show(one) for one in list_attention(workspace)]
    except HoldfastError as error:
        return [{"what": error.message, "next": "holdfast doctor"}]


def _branch(workspace: Workspace | None) -> str:
    if workspace is None or not workspace.git_dir:
        return ""
    try:
        return read_head(workspace.root)["branch"] or ""
    except (HoldfastError, OSError):
        return ""


def _next(
    is_workspace: bool,
    sessions: list[ListedSession],
    waits: list[ShownAttention],
    has_init: bool,
    clients: list[str],
) -> tuple[str, str]:
    """Return one command, and what it does. What waits for a person comes first."""
    if waits:
        return waits[0]["next"], "deal with what waits for you"
    first = first_to_resume(sessions)
    if first is not None and first["here"]:
        return "holdfast resume", "continue the work that was left here"
    if first is not None:
        command = command_to_resume(first["session"], is_foreign=True)
        return command, "continue here what was left in another place"
    if sessions and is_workspace:
        return "holdfast status", "see what is at work here"
    if not is_workspace:
        return "holdfast demo", "see what holdfast does"
    if not has_init and any(found["because"] for found in detect()):
        return "holdfast init", "let the clients of your agents call holdfast by themselves"
    if clients and not sessions:
        return CLIENTS[clients[0]].start[0], "start a session, which calls holdfast by itself"
    return 'holdfast checkpoint --task "what you work on"', "save where you are"
