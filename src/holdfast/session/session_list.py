"""The sessions of a folder: those of all clients, those of the journal, and those at work now."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.clients.discovery import session_at, sessions_in
from holdfast.clients.liveness import ClientProcess, running_clients
from holdfast.clients.transcripts import describe
from holdfast.kernel import clock
from holdfast.kernel.door import Door
from holdfast.kernel.streams import reads_offline
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace, discover, worktrees
from holdfast.session import client_process, session_files, sessions
from holdfast.session.client_process import AT_WORK, standing
from holdfast.session.rules.handover import progress_of, title_of
from holdfast.session.session_choice import is_bare

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession
    from holdfast.session.rules.model import SessionState

MOST = 20
# Clocks of two machines differ by so much without anything being wrong.
USUAL_DRIFT = clock.MINUTE


class ListedSession(TypedDict):
    """One session of the list. `at_work` says whether it runs now, as far as its process or its hooks
    tell, `since` when its client was seen to begin it; `alive` is what its process tells: alive, ended or
    unknown. `checkpoint` is what the journal knows of it: at work, saved, ended, taken over, or nothing;
    `state` is all that it knows. `ahead` says by how much the clock of its last checkpoint was ahead of this
    machine's; 0 if it was not. `here`: it worked in this worktree."""

    session: str
    client: str
    age: int
    ahead: int
    at_work: bool
    since: str
    alive: str
    request: str
    edits: int
    open_tasks: list[str]
    checkpoint: str
    worktree: str
    here: bool
    transcript: str
    state: SessionState | None


@reads_offline
def list_sessions(
    folder: str, workspace: Workspace | None, *, most: int = MOST, now: int
) -> list[ListedSession]:
    """The newest first. Nothing is written; with `session.observe` off, no transcript is read."""
    reads = workspace is None or sessions.reads_transcripts(workspace)
    known = {state["session"]: state for state in _known(workspace)}
    running = running_clients()
    listed: list[ListedSession] = []
    slots = _slots(workspace, now) if workspace is not None else {}
    for found in sessions_in(folder, enough=most)[:most] if reads else []:
        state = known.pop(found["session"], None)
        told = slots.pop(found["session"], None)
        listed.append(_of_transcript(workspace, found, running, state, told, now))
    if workspace is not None:
        age = 0
        for state in known.values():
            if state["last"]:
                # Newest first: none is younger than the one before, whatever its clock said.
                entry = _of_journal(workspace, state, now)
                age = entry["age"] = max(age, entry["age"])
                listed.append(entry)
                slots.pop(state["session"], None)
        listed += [_of_slot(workspace, told, now) for told in slots.values()]
    return sorted(listed, key=lambda one: one["age"])[:most]


def list_at_work(workspace: Workspace, now: int) -> list[ListedSession]:
    """The sessions at work in all worktrees that hooks told of, the newest first. Nothing is written."""
    listed: list[ListedSession] = []
    reads = sessions.reads_transcripts(workspace)
    for root in filter(os.path.isdir, worktrees(workspace)):
        tree = workspace if root == workspace.root else discover(root, local=True)
        for session, told in _slots(tree, now).items():
            path = session_files.read(tree, session, session_files.TRANSCRIPT).get("path")
            is_known = reads and isinstance(path, str) and not path.endswith(".db")
            found = session_at(path) if is_known and isinstance(path, str) else None
            if found is not None and found["session"] == session:
                listed.append(_of_transcript(tree, found, None, None, told, now))
            else:
                listed.append(_of_slot(tree, told, now))
    return sorted(listed, key=lambda one: one["age"])


def first_to_resume(listed: Sequence[ListedSession]) -> ListedSession | None:
    """The session whose work another one can continue: it does not run. One of this worktree goes
    before one of another place."""
    idle = [one for one in listed if not one["at_work"]]
    return next((one for one in idle if one["here"]), idle[0] if idle else None)


def command_to_resume(session: str, transcript: str = "", *, is_foreign: bool = False) -> str:
    """The command that prints what a session or a transcript left. `is_foreign`: by another worktree."""
    which = f" --session {quote(session[:8])}" if session else ""
    if transcript:
        which = f" --transcript {quote(transcript)}"
    return f"holdfast resume{which}{' --accept-foreign' if is_foreign else ''}"


def _slots(workspace: Workspace, now: int) -> dict[str, dict[str, Any]]:
    """What hooks told of the sessions at work in this worktree."""
    return {
        session: kept
        for session, kept in client_process.read_slots(workspace).items()
        if client_process.lives(workspace, session, now)
    }


def _of_transcript(
    workspace: Workspace | None,
    found: FoundSession,
    running: Sequence[ClientProcess] | None,
    state: SessionState | None,
    told: dict[str, Any] | None,
    now: int,
) -> ListedSession:
    about = describe(found, running, Door(workspace).text, now=now)
    stands = standing(workspace, state, now) if workspace and state else ""
    alive = about["alive"]
    if told is not None and workspace is not None:
        alive = client_process.liveness_of(workspace, found["session"], now)
    return {
        "session": found["session"],
        "client": found["client"],
        "age": about["age"],
        "ahead": _ahead(state, now),
        "at_work": told is not None or alive == "alive" or stands == AT_WORK,
        "since": client_process.began_at(workspace, found["session"]) if workspace else "",
        "alive": alive,
        "request": (title_of(state) if state else "") or about["request"],
        "edits": about["edits"],
        "open_tasks": about["open_tasks"],
        "checkpoint": stands,
        "worktree": found["cwd"],
        "here": True,
        "transcript": found["path"],
        "state": state,
    }


def _of_slot(workspace: Workspace, told: dict[str, Any], now: int) -> ListedSession:
    """A session of which only hooks told: its client has written nothing yet."""
    session = str(told["session"])
    since = client_process.began_at(workspace, session)
    return {
        "session": session,
        "client": str(told.get("client") or ""),
        "age": max(0, now - clock.parse(since)) if since else 0,
        "ahead": 0,
        "at_work": True,
        "since": since,
        "alive": client_process.liveness_of(workspace, session, now),
        "request": "",
        "edits": 0,
        "open_tasks": [],
        "checkpoint": "",
        "worktree": workspace.root,
        "here": True,
        "transcript": "",
        "state": None,
    }


def _ahead(state: SessionState | None, now: int) -> int:
    last = state["last"] if state else None
    ahead = clock.parse(last["at"]) - now if last else 0
    return ahead if ahead > USUAL_DRIFT else 0


def _known(workspace: Workspace | None) -> list[SessionState]:
    if workspace is None or not workspace.exists():
        return []
    return sessions.latest(workspace)


def _of_journal(workspace: Workspace, state: SessionState, now: int) -> ListedSession:
    last, observed = state["last"], None if is_bare(state) else state.get("observed")
    assert last is not None
    progress, stands = progress_of(state), standing(workspace, state, now)
    return {
        "session": state["session"],
        "client": observed["client"] if observed else "",
        "age": max(0, now - clock.parse(last["at"])),
        "ahead": _ahead(state, now),
        "at_work": stands == AT_WORK,
        "since": client_process.began_at(workspace, state["session"]),
        "alive": _alive(workspace, state["session"], now) if stands == AT_WORK else "ended",
        "request": title_of(state),
        "edits": int(observed["seen"]["edits"]) if observed else 0,
        "open_tasks": progress["remaining"],
        "checkpoint": stands,
        "worktree": last["world"]["worktree"],
        "here": sessions.is_of(state, workspace.root, workspace.machine),
        "transcript": observed["path"] if observed else "",
        "state": state,
    }


def _alive(workspace: Workspace, session: str, now: int) -> str:
    """A session that the journal calls at work may be ours, or another machine's."""
    told = client_process.liveness_of(workspace, session, now)
    return "unknown" if told == "ended" else told


def describe_last_activity(one: ListedSession) -> str:
    """Return when a session was last active, for a person."""
    from holdfast.pack.handover_text import how_long

    if one["ahead"]:
        return f"its clock is {how_long(one['ahead'])} ahead"
    return f"{how_long(one['age'])} ago"
