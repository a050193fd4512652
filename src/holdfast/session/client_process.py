"""Whether the client that a session runs in is still there: whose work a new session may go on with.

A session without an end was killed, or is at work beside us. Its slot names the process of its
client; where that cannot be seen, what its hooks did lately decides.
"""

from __future__ import annotations

from holdfast.clients.table import own_id
from holdfast.kernel import clock
from holdfast.session import session_files
from holdfast.session.rules.model import same_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.liveness import Liveness
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import SessionState

AT_WORK = "at work"
# Of a process: alive, and the one that this process runs in.
OURS = "ours"
NAME = "client"
# Where no process tells: a session whose hooks were silent for so long is taken for dead.
SILENT_AFTER = 15 * clock.MINUTE


def began(workspace: Workspace, session: str, client: str, *, alone: bool) -> None:
    """A session's client is this process's; `alone` says that it runs one session at a time."""
    from holdfast.processes.agent_process import own_process

    process = own_process()
    kept = {
        "client": client,
        "session": session,
        "process": process if alone else None,
        # It runs other sessions as well, so that it lives says nothing of this one.
        "server": None if alone else process,
    }
    session_files.keep(workspace, session, NAME, kept)


def at_work(workspace: Workspace) -> str:
    """The session whose client started this process, such as an MCP server, which no variable tells
    whose it is; empty when there is none, or one of several."""
    from holdfast.processes.agent_process import own_process

    process = own_process()
    if process is None:
        return ""
    found = [
        session
        for session, kept in read_slots(workspace).items()
        if process in (kept.get("process"), kept.get("server"))
    ]
    return found[0] if len(found) == 1 else ""


def read_slots(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Return what hooks told of each session of this worktree and its client."""
    every = session_files.every(workspace, NAME)
    return {kept["session"]: kept for kept in every if isinstance(kept.get("session"), str)}


def lives(workspace: Workspace, session: str, now: int) -> bool:
    """Whether a session is at work in another process than ours."""
    return liveness_of(workspace, session, now) != "ended"


def liveness_of(workspace: Workspace, session: str, now: int) -> Liveness:
    """Whether a session is at work in another process than ours: `alive` if its process says so,
    `unknown` if only its hooks do, which fired lately."""
    kept = session_files.read(workspace, session, NAME)
    return _liveness(workspace, session, kept, {}, now) if kept else "ended"


def others_at_work(workspace: Workspace, session: str, now: int) -> list[dict[str, Any]]:
    """What the slots tell of the other sessions that are at work in this worktree."""
    states: dict[str, str] = {}
    return [
        kept
        for other, kept in read_slots(workspace).items()
        if other != session and _liveness(workspace, other, kept, states, now) != "ended"
    ]


def _liveness(
    workspace: Workspace, session: str, kept: dict[str, Any], states: dict[str, str], now: int
) -> Liveness:
    """The same from what the slot tells. `states` are those of the processes that were looked at already:
    one client runs many sessions, one after the other."""
    is_alone = isinstance(kept.get("process"), dict)
    process = kept.get("process" if is_alone else "server")
    state = "unknown"
    if isinstance(process, dict):
        state = states[repr(process)] = states.get(repr(process)) or _state_of(process)
    if state == "gone":
        return "ended"
    # That a server lives says nothing of this one of its sessions.
    if is_alone and state != "unknown":
        # The same client runs one session after the other: what was before ours there is over.
        return "ended" if state == OURS else "alive"
    return "unknown" if _was_seen(workspace, session, now) else "ended"


def has_slot(workspace: Workspace, session: str) -> bool:
    """Whether hooks of the session's client told of it here."""
    return bool(session_files.read(workspace, session, NAME))


def began_at(workspace: Workspace, session: str) -> str:
    """When a hook saw the session begin; empty if none did."""
    at = session_files.seen_at(workspace, session, NAME)
    return clock.stamp(at) if at is not None else ""


def standing(workspace: Workspace, state: SessionState, now: int) -> str:
    """`taken over`, `ended`, `at work`, or `saved`: a checkpoint that no running client holds."""
    if state["adopted_by"]:
        return "taken over"
    if state["ended_at"]:
        return "ended"
    last = state["last"]
    if last is not None and not same_machine(last["world"], workspace.machine):
        return AT_WORK  # the processes of another machine cannot be seen from here
    is_ours = state["session"] == own_id()
    return AT_WORK if is_ours or lives(workspace, state["session"], now) else "saved"


def _state_of(process: dict[str, Any]) -> str:
    """`alive`, `ours`, `gone` or `unknown`; the last also for a damaged file."""
    from holdfast.processes.agent_process import own_process, process_state

    try:
        state = process_state(process)  # type: ignore[arg-type]
    except (KeyError, TypeError, AttributeError):
        return "unknown"
    return OURS if state == "alive" and process == own_process() else state


def _was_seen(workspace: Workspace, session: str, now: int) -> bool:
    times = [
        session_files.seen_at(workspace, session, name) for name in (NAME, "looked", "checked")
    ]
    return max((time for time in times if time is not None), default=0) > now - SILENT_AFTER


def killed(workspace: Workspace, known: list[SessionState], now: int) -> SessionState | None:
    """The first of these sessions that has no end, was not taken over, and has no process at work."""
    for state in known:
        is_over = state["ended_at"] or state["adopted_by"]
        if not is_over and not lives(workspace, state["session"], now):
            return state
    return None
