"""The sessions that can be resumed in a folder: those of all clients, and those of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from holdfast.clients.discovery import sessions_in
from holdfast.clients.liveness import running_clients
from holdfast.clients.transcripts import describe
from holdfast.kernel import clock
from holdfast.remote.offline import reads_offline
from holdfast.session import sessions
from holdfast.session.client_process import standing
from holdfast.session.rules.handover import progress_of

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import SessionState

MOST = 20
# Clocks of two machines differ by so much without anything being wrong.
USUAL_DRIFT = clock.MINUTE


class ListedSession(TypedDict):
    """One session of the list. `alive` is alive, ended or unknown; `checkpoint` says what the journal
    knows of it: at work, saved, ended, taken over, or nothing; `state` is all that it knows. `ahead` says by
    how much the clock of its last checkpoint was ahead of this machine's; 0 if it was not."""

    session: str
    client: str
    age: int
    ahead: int
    alive: str
    request: str
    edits: int
    open_tasks: list[str]
    checkpoint: str
    worktree: str
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
    for found in sessions_in(folder, enough=most)[:most] if reads else []:
        about = describe(found, running, now=now)
        state = known.pop(found["session"], None)
        listed.append(
            {
                "session": found["session"],
                "client": found["client"],
                "age": about["age"],
                "ahead": _ahead(state, now),
                "alive": about["alive"],
                "request": about["request"],
                "edits": about["edits"],
                "open_tasks": about["open_tasks"],
                "checkpoint": standing(workspace, state, now) if workspace and state else "",
                "worktree": found["cwd"],
                "transcript": found["path"],
                "state": state,
            }
        )
    if workspace is not None:
        age = 0
        for state in known.values():
            if state["last"]:
                # Newest first: none is younger than the one before, whatever its clock said.
                entry = _of_journal(workspace, state, now)
                age = entry["age"] = max(age, entry["age"])
                listed.append(entry)
    return sorted(listed, key=lambda one: one["age"])[:most]


def _ahead(state: SessionState | None, now: int) -> int:
    last = state["last"] if state else None
    ahead = clock.parse(last["at"]) - now if last else 0
    return ahead if ahead > USUAL_DRIFT else 0


def _known(workspace: Workspace | None) -> list[SessionState]:
    if workspace is None or not workspace.exists():
        return []
    return sessions.latest(workspace)


def _of_journal(workspace: Workspace, state: SessionState, now: int) -> ListedSession:
    last, observed = state["last"], state.get("observed")
    assert last is not None
    progress, stands = progress_of(state), standing(workspace, state, now)
    return {
        "session": state["session"],
        "client": observed["client"] if observed else "",
        "age": max(0, now - clock.parse(last["at"])),
        "ahead": _ahead(state, now),
        "alive": "unknown" if stands == "at work" else "ended",
        "request": progress["current"] or progress["title"],
        "edits": int(observed["seen"]["edits"]) if observed else 0,
        "open_tasks": progress["remaining"],
        "checkpoint": stands,
        "worktree": last["world"]["worktree"],
        "transcript": observed["path"] if observed else "",
        "state": state,
    }
