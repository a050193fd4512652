"""Which session is to be resumed: the one that is named, the newest that waits here, or a progress file."""

from __future__ import annotations

import os

from holdfast.clients.table import own_id, title_of, titles
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.text import quote
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.files import Unreadable
from holdfast.session import client_process, sessions
from holdfast.session.ccc_files import folder_of, path_of, read_progress
from holdfast.session.rules import progress
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import PROGRESS_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from typing import Any, NotRequired, TypedDict

    from holdfast.clients.discovery import FoundSession
    from holdfast.kernel.workspace import Workspace
    from holdfast.pack.around import ResumeContext
    from holdfast.session.resume import ResumeRequest
    from holdfast.session.rules.model import SessionState

    class ChosenSession(TypedDict):
        state: SessionState | None
        found: FoundSession | None
        # What later sessions asked for in which nothing was done.
        trivial: NotRequired[list[str]]


# A session of no tool call is small; a larger transcript is not read to find out.
LARGEST_TRIVIAL, MOST_TRIVIAL, LONGEST_TRIVIAL = 128 * 1024, 4, 160


def choose(workspace: Workspace, request: ResumeRequest, now: int) -> ChosenSession:
    """A session that the journal knows, one that only a transcript tells of, or both in one."""
    wanted = request.get("session", "")
    discovered = sessions_of_clients(workspace) if request.get("discover", True) else []
    if wanted:
        return _choose_named(workspace, wanted, discovered)
    busy = _list_busy(workspace, discovered, now)
    discovered = [one for one in discovered if one["session"] not in busy]
    discovered, trivial = pass_trivial(discovered)
    try:
        state = _choose_known(workspace, busy)
    except NotFound:
        if not discovered:
            raise
        state = None
    if busy and state is None and not discovered:
        shown = ", ".join(f"{title_of(client)} {id[:8]}".strip() for id, client in busy.items())
        raise NotFound(
            f"Every session here is at work: {shown}.",
            hint=f"`holdfast resume --session {quote(next(iter(busy))[:8])}` prints what it does anyway.",
        )
    newest = discovered[0] if discovered else None
    if newest is not None and (state is None or newest["modified"] > _last_seen(state)):
        known = known_session(workspace, newest["session"])
        # A statement that no client's session made, such as a person's, is no older news than it.
        if known is not None or state is None or not is_bare(state):
            return {"state": known, "found": newest, "trivial": trivial}
    found = next((one for one in discovered if state and one["session"] == state["session"]), None)
    is_beside = found is None and state is not None and is_bare(state)
    return {"state": state, "found": newest if is_beside else found}


def sessions_of_clients(workspace: Workspace) -> list[FoundSession]:
    """The sessions of all clients in this worktree, newest first, without the one we run in."""
    if not sessions.reads_transcripts(workspace):
        return []
    from holdfast.clients.discovery import sessions_in

    own = own_id()
    return [one for one in sessions_in(workspace.root) if one["session"] != own]


def pass_trivial(discovered: list[FoundSession]) -> tuple[list[FoundSession], list[str]]:
    """The sessions from the newest on in which something was done, and what the later ones asked for; all of them
    where nothing was done in any."""
    passed: list[str] = []
    for place, one in enumerate(discovered[: MOST_TRIVIAL + 1]):
        if not _is_small(one["path"]):
            return discovered[place:], passed
        from holdfast.observe.lineage import is_trivial
        from holdfast.session.observation import read_once

        seen = read_once(one)
        if seen is not None and not is_trivial(seen):
            return discovered[place:], passed
        request = seen["request"] if seen else None
        passed += [request["text"]] if request else []
    return discovered, []


def worked_before(
    workspace: Workspace, state: SessionState, found: FoundSession | None
) -> tuple[SessionState, FoundSession | None, list[str]]:
    """The session whose work was taken over by one in which nothing was done, and what such sessions asked for; the
    session itself where something was done or stated."""
    passed: list[str] = []
    for _ in range(MOST_TRIVIAL):
        seen = _seen_in_few_words(state, found)
        if seen is None or seen["calls"] or seen["edits"] or state.get("stated"):
            break
        from holdfast.clients.conversation import lets_go_on

        others = {one["session"]: one for one in sessions_of_clients(workspace)}
        taken = sessions.taken_over_by(workspace, state)
        before = known_session(workspace, taken) if taken else None
        if before is None and taken not in others:
            break
        if seen["request"] is not None and not lets_go_on(seen["request"]["text"]):
            passed.append(seen["request"]["text"])
        state = before or sessions.read_or_new(workspace, taken)
        found = others.get(taken)
    return state, found, passed


def _seen_in_few_words(state: SessionState, found: FoundSession | None) -> Any:
    """What was seen of a session, as far as it takes no time to say: recorded, or in a small transcript."""
    observed = state.get("observed")
    if observed is not None:
        return observed["seen"]
    if found is None or not _is_small(found["path"]):
        return None
    from holdfast.session.observation import read_once

    return read_once(found)


def _is_small(path: str) -> bool:
    """Whether a transcript is so small that nothing may have been done in it."""
    try:
        return not path.endswith(".db") and os.path.getsize(path) <= LARGEST_TRIVIAL
    except OSError:
        return False


def beside_trivial(requests: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The section of a pack that names later sessions in which nothing was done."""
    lines = [f"- {' '.join(text.split())[:LONGEST_TRIVIAL]}" for text in requests]
    return [("Asked since, in sessions without a tool call", lines)] if lines else []


def _list_busy(workspace: Workspace, discovered: list[FoundSession], now: int) -> dict[str, str]:
    """The sessions whose process runs at this moment, but ours, each with its client: none of them
    waits to be continued."""
    busy = {
        session: str(kept.get("client") or "")
        for session, kept in client_process.read_slots(workspace).items()
        if session != own_id() and client_process.liveness_of(workspace, session, now) == "alive"
    }
    for one in discovered:
        if one["session"] not in busy and is_running(workspace, one, now):
            busy[one["session"]] = one["client"]
    return busy


def is_running(workspace: Workspace | None, found: FoundSession, now: int) -> bool:
    """Whether the processes of this machine say that a session without hooks runs."""
    if workspace is not None and client_process.has_slot(workspace, found["session"]):
        return False  # its hooks told better
    from holdfast.clients.liveness import liveness, running_clients

    return liveness(found, running_clients(), now=now) == "alive"


def _choose_named(
    workspace: Workspace, wanted: str, discovered: list[FoundSession]
) -> ChosenSession:
    matching = [one for one in discovered if one["session"].startswith(wanted)]
    try:
        state: SessionState | None = sessions.find_session(workspace, wanted)
    except NotFound:
        if not matching:
            raise
        state = None
    session = state["session"] if state else matching[0]["session"]
    found = next((one for one in matching if one["session"] == session), None)
    if state is None:
        state = _stated_beside(workspace, session, is_newest=discovered[0]["session"] == session)
    return {"state": state, "found": found}


def _stated_beside(workspace: Workspace, session: str, *, is_newest: bool) -> SessionState | None:
    """What a person or a program stated beside a client's session that has no record: the statement of which
    it is the session that was seen, else the newest one here beside the newest session. `choose` joins
    them in the same way where no session is named."""
    known = sessions.here(workspace) if workspace.exists() else []
    bare = [state for state in known if is_bare(state)]
    for state in bare:
        observed = state.get("observed")
        if observed is not None and observed.get("session") == session:
            return state
    return bare[0] if is_newest and bare and bare[0] is known[0] else None


def found_at(path: str) -> FoundSession:
    """The session that a transcript file holds; refused where it is no client's."""
    from holdfast.clients.discovery import session_at

    found = session_at(path)
    if found is None:
        missing = "There is no file" if not os.path.exists(path) else "No client's transcript:"
        raise NotFound(
            f"{missing} {path}.",
            hint="`holdfast resume --list` lists the sessions of all clients here; --session ID "
            "resumes one of them without the name of its file.",
        )
    return found


def known_session(workspace: Workspace, session: str) -> SessionState | None:
    state = sessions.read_or_new(workspace, session) if workspace.exists() else None
    if state and (state["captures"] or state.get("observed") or state.get("handover")):
        return state
    return None


def _last_seen(state: SessionState) -> int:
    observed, last = state.get("observed"), state["last"]
    times = [one["at"] for one in (observed, last) if one]
    return max((clock.parse(time) for time in times), default=0)


def is_bare(state: SessionState) -> bool:
    """A session that a person or a program captured, with no client behind it that is known. What was
    observed is of another session."""
    observed = state.get("observed")
    return observed is None or bool(observed.get("session"))


def _choose_known(workspace: Workspace, busy: Container[str]) -> SessionState | None:
    """The session that this process belongs to, else one to take over that is not busy, or nothing
    that any record knows."""
    known = sessions.here(workspace)
    found = sessions.at_work(workspace, busy) or sessions.predecessor(known, own_id())
    if found is not None:
        return found
    taken_over = [state for state in known if state["session"] not in busy]
    if taken_over:
        return taken_over[0]
    if known:
        return None
    elsewhere = sessions.latest(workspace)
    path = os.path.join(workspace.root, folder_of(workspace), PROGRESS_FILE)
    if elsewhere and not os.path.exists(path):
        others = f"{len(elsewhere)} {'is' if len(elsewhere) == 1 else 'are'} known of other places"
        raise NotFound(
            f"No session of this worktree waits; {others}.",
            hint=f"`holdfast resume --session {quote(elsewhere[0]['session'][:8])} --accept-foreign` continues "
            "the newest of them here; `holdfast resume --list` lists them.",
        )
    return next((state for state in elsewhere if _is_shown(workspace, state)), None)


def _is_shown(workspace: Workspace, state: SessionState) -> bool:
    """Whether the progress file here is that of a session, which was captured in another place."""
    try:
        shown = read_progress(workspace)
        return any(progress.parse(text) == shown for text in rules.render(state).values())
    except (OSError, Unreadable, rules.Unparsable):
        return False


def session_of_file(workspace: Workspace, around: ResumeContext | None) -> SessionState:
    """A progress file that no record knows, from another tool or another machine; AMB-CCC-26.
    Without one, what waits around a session is still worth a pack."""
    try:
        read = read_progress(workspace)
    except (FileNotFoundError, Unreadable, rules.Unparsable) as problem:
        # A link of its name, which a repository can hold, is no progress; `status` names it.
        if TreeFile(workspace.root, path_of(workspace, PROGRESS_FILE)).is_file():
            raise HoldfastError(
                f"{PROGRESS_FILE} cannot be read: {problem}.",
                hint="Correct it; `holdfast checkpoint` keeps a copy of it in quarantine.",
            ) from None
        if around is not None:
            return rules.initial(rules.stream_of(""))
        raise NotFound("There is nothing to resume here.", hint=_why_nothing(workspace)) from None
    state = rules.initial(rules.stream_of(""))
    return {**state, "progress": read, "folder": folder_of(workspace)}


def _why_nothing(workspace: Workspace) -> str:
    if not sessions.reads_transcripts(workspace):
        return (
            "No checkpoint was found, and transcripts are not read here: `session.observe` is false. "
            "`holdfast resume --transcript FILE` reads one."
        )
    return (
        f"No session of {titles()} was found in this folder, "
        "and no checkpoint. `holdfast checkpoint` captures a session."
    )
