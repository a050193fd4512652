"""Open a session that was found: the text to continue it from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import apsw

from holdfast.clients.discovery import finder_of, found_session
from holdfast.kernel.errors import NotFound
from holdfast.kernel.text import command
from holdfast.memory.index import open_known
from holdfast.session.session_choice import found_at
from holdfast.session.transcript_resume import resume_transcript

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.kernel.workspace import Workspace
    from holdfast.memory.index import IndexedSession

SHORTEST_ID = 4


def command_to_open(known: IndexedSession, here: SessionPlace) -> str:
    """Return the command that prints the pack of a session of the index, for a caller in some folder."""
    if not known["path"]:
        elsewhere = () if here.holds(known["cwd"]) else ("-C", known["cwd"])
        return command(*elsewhere, "show", known["session"])
    if here.holds(known["cwd"]):
        return command("resume", "--session", known["session"])
    is_there = os.path.exists(known["path"])
    if known["client"] != "opencode" and (is_there or not os.path.isdir(known["cwd"])):
        return command("resume", "--transcript", known["path"])
    return command("-C", known["cwd"], "resume", "--session", known["session"])


def open_session(
    workspace: Workspace | None, client: Any, session: str, path: str, *, cwd: str, now: int
) -> str:
    """Return the pack of a session that was found, of any project. Of a stream, return the texts that are indexed."""
    if not path:
        return _texts_of(session, cwd)
    found: FoundSession | None = None
    if client == "opencode" or not os.path.isfile(path):
        found = found_session(client, session, path, 0, cwd)
    else:
        found = finder_of(client).session_at(path, 0)
    return resume_transcript(found or found_at(path), {}, now, workspace)["pack"]


def _texts_of(stream: str, cwd: str) -> str:
    index = open_known()
    if index is None:
        return ""
    with index:
        rows = index.sessions("WHERE session = ? AND cwd = ?", stream, cwd)
        return "\n".join(one.text for row in rows for one in index.pieces_of(row["id"]))


def find_elsewhere(workspace: Workspace, id: str, *, now: int) -> dict[str, str] | None:
    """Return the session of any project that an id or the beginning of one names, with its pack; None where the index
    knows none."""
    index = open_known() if len(id) >= SHORTEST_ID else None
    if index is None:
        return None
    try:
        with index:
            rows = index.sessions(
                "WHERE substr(session, 1, ?) = ? ORDER BY ended DESC", len(id), id
            )
    except apsw.Error:
        return None
    if not rows:
        return None
    one = rows[0]
    if len(rows) > 1:
        raise NotFound(
            f"{len(rows)} sessions begin with {id}.",
            hint=", ".join(each["session"][:20] for each in rows[:5]),
            kind="ambiguous",
        )
    client, session, path = one["client"], one["session"], one["path"]
    pack = open_session(workspace, client, session, path, cwd=one["cwd"], now=now)
    return {"session": session, "client": client, "transcript": path, "pack": pack}
