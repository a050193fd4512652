"""A session begins, goes on, or lost its context: the verdict and the pack, and what went wrong."""

from __future__ import annotations

from holdfast.kernel import failures
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.text import safe
from holdfast.session import client_process, session_files, sessions
from holdfast.session.rules import session as rules
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.events import Client, Event, Outcome
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.resume import ResumeRequest

# Two hooks of ours for one event, in the settings and in a plugin, come at the same moment. The
# session itself cannot start twice within it without having read the pack already.
SAME_MOMENT = 5_000
LONGEST_FAILURE = 200
SMALLEST_PACK = 1_000


def start(event: Event, client: Client, workspace: Workspace, now: int) -> Outcome:
    from holdfast.fleet.activity import saw

    session = event.session
    moment = f"start-{event.source if event.source.isalnum() else 'other'}"
    if session and not session_files.is_due(workspace, session, moment, SAME_MOMENT, now):
        return {}
    reminder = saw(workspace, session, now)
    told = [line for line in (_failed(workspace), reminder) if line]
    outcome: Outcome = {"tell": "\n".join(told)} if told else {}
    after = "\n\n".join(told)
    try:
        pack = _pack(event, client, workspace, now, room=client.LONGEST_CONTEXT - len(after) - 2)
    finally:
        _begin(workspace, session, client, now)
    context = "\n\n".join(part for part in (pack, after) if part)
    if context:
        outcome["context"] = context
    return outcome


def _begin(workspace: Workspace, session: str, client: Client, now: int) -> None:
    if not session:
        return
    try:
        session_files.sweep(workspace, now)
        client_process.began(workspace, session, client.NAME, alone=client.ALONE)
    except (OSError, HoldfastError) as error:
        failures.note(workspace, f"{client.NAME} slot", str(error), now)


def _failed(workspace: Workspace) -> str:
    """Hooks that failed are named to whoever comes next, not only to who asks."""
    failed = failures.read(workspace)
    if not failed:
        return ""
    last = failed[-1]
    reason = " ".join(safe(last["reason"]).split())[:LONGEST_FAILURE]
    hooks = f"{len(failed)} hook{'s' if len(failed) > 1 else ''}"
    return (
        f"Holdfast: {hooks} failed, last {safe(last['hook'])} at {last['at']}: {reason} "
        "(`holdfast doctor` says what to do)"
    )


def _pack(event: Event, client: Client, workspace: Workspace, now: int, *, room: int) -> str:
    """The text to go on from; nothing when there is nothing, or when it is somebody else's."""
    from holdfast.session.resume import resume

    session = event.session
    own = sessions.read_or_new(workspace, session)
    if own["captures"]:
        whose = session
        command = {"do": "resumed", "by": event.source}
        stream = rules.stream_of(session)
        open_writer(workspace).execute(stream, command, actor=client.NAME, now=now)
    else:
        # Nobody can take anything over without a name; what is here is told all the same.
        whose = _predecessor(workspace, session, client, now) if session else ""
        if session and not whose and sessions.here(workspace):
            return ""  # others took over what was left here, or are at work on it
    budget = max(room, SMALLEST_PACK)
    for _ in range(3):
        try:
            request: ResumeRequest = {"session": whose, "budget": budget, "probe": False}
            text = resume(workspace, request, now=now)["pack"]
        except NotFound:
            return ""
        counted = client.length(text)
        if counted <= room:
            return text
        # A client that counts bytes has less room for letters that take several.
        budget = max(SMALLEST_PACK, budget * room // (counted + counted // 50))
    return text[:SMALLEST_PACK]


def _predecessor(workspace: Workspace, session: str, client: Client, now: int) -> str:
    """The session that this one takes over, else the one here that was killed."""
    old = sessions.predecessor(workspace, session)
    if old is None:
        old = client_process.killed(workspace, now)
        if old is None or not session_files.read(workspace, old["session"], client_process.NAME):
            return old["session"] if old else ""  # by whom it was made nobody knows
    taken = sessions.adopt(workspace, old["session"], session, actor=client.NAME, now=now)
    return old["session"] if taken else ""
