"""Which session is meant: the one that is named, the one at work here, or the one to take over."""

from __future__ import annotations

from holdfast.clients.table import LONGEST_ID, is_plain, own_id
from holdfast.kernel import config
from holdfast.kernel.errors import Conflict, NotFound, Usage
from holdfast.kernel.state import load
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import same_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import SessionState

# So many of the latest sessions are looked at.
LOOK_BACK = 50


def check_id(session: str) -> str:
    """A session's id as a person types it; one that could be mistaken for a path is refused."""
    if session and not is_plain(session):
        raise Usage(
            f"{session!r:.80} cannot be a session's id.",
            hint=f"Letters, digits, '-', '_' and '.', at most {LONGEST_ID}.",
        )
    return session


def read(workspace: Workspace, session: str) -> SessionState:
    state: SessionState = load(workspace.journal, rules, rules.stream_of(session))[0]
    return state


def read_or_new(workspace: Workspace, session: str) -> SessionState:
    """The session, or the empty state of one that is not known yet."""
    if workspace.exists():
        return read(workspace, session)
    return rules.initial(rules.stream_of(session))


def reads_transcripts(workspace: Workspace) -> bool:
    """Whether the transcripts of clients are read here at all."""
    return bool(config.settings_of(workspace)["session.observe"])


def latest(workspace: Workspace) -> list[SessionState]:
    """Sessions that were captured, newest first."""
    if not workspace.exists():
        return []
    streams = workspace.journal.newest(rules.stream_of(""), limit=LOOK_BACK)
    states = [read(workspace, stream.partition(":")[2]) for stream in streams]
    return [state for state in states if state["last"] is not None]


def here(workspace: Workspace) -> list[SessionState]:
    """Those that were captured in this worktree."""
    machine = workspace.machine
    return [state for state in latest(workspace) if is_of(state, workspace.root, machine)]


def at(workspace: Workspace, worktree: str, machine: str) -> SessionState | None:
    """The newest that was captured in a worktree, of another machine too."""
    found = (state for state in latest(workspace) if is_of(state, worktree, machine))
    return next(found, None)


def is_of(state: SessionState, worktree: str, machine: str) -> bool:
    """Whether a session was captured in a worktree of a machine."""
    if state["last"] is None:
        return False
    world = state["last"]["world"]
    return world["worktree"] == worktree and same_machine(world, machine)


def find_session(workspace: Workspace, prefix: str) -> SessionState:
    """The session with this id, or the only one that begins so."""
    named = read_or_new(workspace, prefix)
    if named["last"] is not None:
        return named
    found = [state for state in latest(workspace) if state["session"].startswith(prefix)]
    if len(found) != 1:
        what = "no session" if not found else f"{len(found)} sessions"
        raise NotFound(
            f"There is {what} with the id {prefix}.", hint="`holdfast resume --list` lists them."
        )
    return found[0]


def at_work(workspace: Workspace, but: Container[str] = ()) -> SessionState | None:
    """The session that a command without a name belongs to: the newest here that has not ended, `but`
    for these."""
    own = own_id()
    if not own:
        return unended(workspace, but)
    return next((state for state in here(workspace) if state["session"] == own), None)


def unended(workspace: Workspace, but: Container[str] = ()) -> SessionState | None:
    """The newest session here without an end, at work or killed, `but` for these."""
    for state in here(workspace):
        if not state["ended_at"] and not state["adopted_by"] and state["session"] not in but:
            return state
    return None


def predecessor(known: list[SessionState], session: str, began: str = "") -> SessionState | None:
    """Return the session that a new one took over at its start, or that it can take over now: the newest that
    ended and was not taken over. `known` are the sessions of the worktree, newest first. One that ended after
    this one `began` was at work beside it, and is not taken over."""
    taken = (state for state in known if session and state["adopted_by"] == session)
    ended = (
        state
        for state in _worked_first(known)
        if state["ended_at"]
        and not state["adopted_by"]
        and (not began or state["ended_at"] <= began)
    )
    return next(taken, None) or next(ended, None)


def _worked_first(known: list[SessionState]) -> list[SessionState]:
    """Sessions in which something was done or stated before those in which nothing was, else as they came."""
    from holdfast.observe.lineage import is_trivial

    def did_nothing(state: SessionState) -> bool:
        observed = state.get("observed")
        return observed is not None and not state.get("stated") and is_trivial(observed["seen"])

    return sorted(known, key=did_nothing)


def taken_over_by(workspace: Workspace, state: SessionState) -> str:
    """The session whose work a session took over; one without a checkpoint has no word of it in its own records."""
    if state["adopts"] or not state["session"] or not workspace.exists():
        return state["adopts"]
    for stream in workspace.journal.newest(rules.stream_of(""), limit=LOOK_BACK):
        other = read(workspace, stream.partition(":")[2])
        if other["adopted_by"] == state["session"]:
            return other["session"]
    return ""


def adopt(workspace: Workspace, old: str, new: str, *, actor: str, now: int) -> SessionState | None:
    """Take an ended session over: one record, one winner. Return it, with what a person wrote into its file since;
    None when another session was faster."""
    from holdfast.kernel.streams import open_writer

    state = read(workspace, old)
    if state["adopted_by"] == new:
        return state
    writer, stream = open_writer(workspace), rules.stream_of(old)
    try:
        writer.execute(stream, {"do": "adopted", "by": new}, actor=actor, now=now)
    except Conflict:
        return None
    taken: SessionState = writer.load(stream)
    return taken
