"""What is done after a turn, by a process that the client does not wait for.

It reads what is new in the client's transcript, looks at the work tree, records both, and checks the
budget. By then the client has also written its last answer down.
"""

from __future__ import annotations

import os

from holdfast.kernel import clock, config
from holdfast.kernel.deadline import within
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.lock import wait_for_lock
from holdfast.kernel.streams import open_writer
from holdfast.processes import relaunch
from holdfast.session import observation, session_files, sessions
from holdfast.session.ccc_files import folder_of
from holdfast.session.rules.session import stream_of
from holdfast.session.world import CONTROL_FILES, head_now, look_at_work_tree, world_now
from holdfast.usage import quotas, usage_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.usage.model import UsageLimit
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import SessionState, World

# The session's file that asks the agent for what cannot be observed: due, asked, or asked twice.
ASK = "ask"
_LOCK = "after-turn.lock"
LONGEST_WAIT_SECONDS = 600.0


def after_turn(workspace: Workspace, client: str, session: str, transcript: str, now: int) -> None:
    """Observe, survey and check one session; one process at a time."""
    from holdfast.hooks import run
    from holdfast.hooks.activity import tell_spent

    with _Alone(workspace) as is_alone:
        if not is_alone:
            return  # while a client waits; the next event looks again
        state = sessions.read_or_new(workspace, session)
        looked = observation.look(workspace, session, transcript=transcript, state=state, now=now)
        world = _survey(workspace)
        if looked is not None:
            observation.record(workspace, session, looked, world, actor=client, now=now)
            if looked["context"] is not None:
                ask_if_full(workspace, session, looked["context"], looked["context_at"], state)
        elif state["last"] is not None and world != state["last"]["world"]:
            command = {"do": "survey", "world": world}
            open_writer(workspace).execute(stream_of(session), command, actor=client, now=now)
    path = transcript or (looked["path"] if looked is not None else "")
    if usage_limits.keep_from_transcript(workspace, client, session, path):
        relaunch.leave(run.command("tell-waiting", session))
    else:
        keep_full_quota(workspace, client, session, now)
    tell_spent(workspace, session, now)


def keep_full_quota(workspace: Workspace, client: str, session: str, now: int) -> None:
    """A limit that is used up is the session's state until its reset, as if the vendor had refused a
    request; once a limit, because some accounts may go on beyond it."""
    from holdfast.hooks import run

    held = [one for one in quotas.list_quotas(workspace, now) if one["client"] == client]
    full = quotas.fullest(held)
    if full is None or full["percent"] < quotas.FULL or not full["resets_at"]:
        return
    is_over = not os.path.isdir(session_files.folder_of(workspace, session))
    known = session_files.read(workspace, session, session_files.FULL).get("resets_at", "")
    if is_over or quotas.is_same_reset(str(known), full["resets_at"]):
        return
    session_files.keep(workspace, session, session_files.FULL, {"resets_at": full["resets_at"]})
    limit: UsageLimit = {
        "says": f"{full['name']} limit {int(full['percent'])} % used",
        "at": now,
        "resets_at": clock.parse(full["resets_at"]),
    }
    if usage_limits.keep(workspace, client, session, limit, is_measured=True):
        relaunch.leave(run.command("tell-waiting", session))


def _survey(workspace: Workspace) -> World:
    world = world_now(workspace, head_now(workspace))
    folder = folder_of(workspace)
    look_at_work_tree(workspace, world, [os.path.join(folder, name) for name in CONTROL_FILES])
    return world


def ask_if_full(
    workspace: Workspace, session: str, full: float, at: str, state: SessionState
) -> None:
    """Remember that the context is so full that the agent is to be asked, once a stretch. `at`: when the
    client told how full it is."""
    limit = int(config.load(workspace, workspace.journal)["session.ask_at_percent"])
    if not limit or full < limit:
        return
    if not os.path.isdir(session_files.folder_of(workspace, session)):
        return  # the session is over
    known = session_files.read(workspace, session, ASK)
    if known and not _is_of_new_stretch(known, at):
        return
    stated = state.get("stated")
    asked = {"percent": int(full), "asked": 0, "stated": stated["at"] if stated else ""}
    session_files.keep(workspace, session, ASK, asked)


def _is_of_new_stretch(known: dict[str, Any], at: str) -> bool:
    """Whether the client told how full the context is after it was last cut down."""
    cut_at = known.get("cut_at")
    try:
        return isinstance(cut_at, int) and clock.parse(at) > cut_at
    except ValueError:
        return False


class _Alone:
    """A lock between the processes that look after turns in one worktree."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = os.path.join(workspace.prepare_private(), _LOCK)

    def __enter__(self) -> bool:
        """Return whether this process has the lock. While a client waits it is not waited for long."""
        self._descriptor = os.open(
            self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            wait_for_lock(self._descriptor, within(LONGEST_WAIT_SECONDS))
        except StoreAway:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
