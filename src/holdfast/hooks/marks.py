"""Marks for the launcher: by them it knows, without Python, that an event needs no answer.

A mark says that Python looked and found nothing. It is positive: where one is missing, is older than it
may be, or was removed by an agent, the launcher asks Python. `clients/hook.sh` reads them.

- `quiet` in the workspace's home: no alert waits for a person, and no stop is set.
- `sessions/CLIENT.SESSION` beside the launcher, a line each: `usual` and the session's worktree, when it is
  plain (see below) and the worktree's `.git` has the workspace's home; the worktree; its workspace's home;
  the state file of its loop; `plain` when it keeps no budget, is no agent of a fleet, and has no server, and
  `calm` besides when a stop of it has nothing to answer; the payload of an event that says that a turn
  ended; the worktree's private folder. Its time is that of the next look at the session, the time of `.since` that of the last one. The
  launcher compares the first three lines with what it finds by itself, and runs none of it.
- `sessions/CLIENT.SESSION.spent`, where a budget is kept: where the client writes the session down. Its time is that
  of the last look at what the session spent.
- `sessions/CLIENT.SESSION.captured`: its time is that of the next capture, for a client that says before
  every call of its model that it may compact.
The launcher takes the present time from `seen/CLIENT.EVENT` in the worktree's private folder, which it touches
at each event (`clients.events`).
"""

from __future__ import annotations

import os

from holdfast.clients import launcher
from holdfast.clients.events import prepare_times
from holdfast.clients.table import CLIENTS
from holdfast.hooks.activity import EVERY, LOOKED, is_any
from holdfast.hooks.activity import SPENT as LOOKED_SPENT
from holdfast.kernel import canonical_json, clock, latch
from holdfast.kernel.plain_file import list_names, modified_at, unlink_if_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

SINCE, CAPTURED, SPENT = ".since", ".captured", ".spent"
FORGOTTEN_AFTER = 7 * clock.DAY
# Beside the launcher; its time is that of the last sweep.
SWEPT = "swept"


def leave(workspace: Workspace, client: str, session: str, now: int, *, key: str = "") -> None:
    """Tell the launcher how a session stands. `key` is the launcher's name for it, where another process
    than its client's hook asks."""
    place = _place(client, session, key)
    if not place:
        return
    from holdfast.hooks.handlers import MAY_COMPACT_EVERY
    from holdfast.session import session_files

    try:
        leave_quiet(workspace)
        ask = session_files.read(workspace, session, "ask")
        is_compacted = bool(session_files.read(workspace, session, session_files.COMPACTED))
        if is_compacted or ("percent" in ask and not ask.get("asked")):
            _drop(place)  # the next event has something to say
            return
        told = _told(workspace, session, ask)
        if not told:
            _drop(place)
            return
        workspace.prepare_private("pending")
        prepare_times(workspace, client)
        _leave_spent(place, workspace, session, "", now)
        looked = session_files.seen_at(workspace, session, LOOKED)
        _write(place + SINCE, "", now)
        _write(
            place,
            told,
            now - 1 if looked is None else looked + EVERY,
        )
        captured = session_files.seen_at(workspace, session, "captured")
        if captured is not None:
            _write(place + CAPTURED, "", captured + MAY_COMPACT_EVERY)
    except OSError:
        _drop(place)  # then Python is asked, which is only slower


def leave_spent(
    workspace: Workspace, client: str, session: str, transcript: str, now: int, *, key: str = ""
) -> None:
    """Tell the launcher which file says what a session spends, and that it was looked at now."""
    place = _place(client, session, key)
    if place:
        _leave_spent(place, workspace, session, transcript, now)


def _leave_spent(place: str, workspace: Workspace, session: str, transcript: str, now: int) -> None:
    from holdfast.session import session_files

    if not is_any("spends", workspace):
        unlink_if_any(place + SPENT)
        return
    known = session_files.read(workspace, session, session_files.TRANSCRIPT).get("path", "")
    path = transcript or str(known) or _path_of(session)
    looked = session_files.seen_at(workspace, session, LOOKED_SPENT)
    if path and "\n" not in path:
        _write(place + SPENT, f"{path}\n", 0 if looked is None else looked)


def _path_of(session: str) -> str:
    """Return the file of a session whose client does not name it in its events."""
    from holdfast.clients.discovery import files_of

    return next((source["path"] for source in files_of(session)), "")


def drop(client: str, session: str, *, key: str = "") -> None:
    """A session is over, or has something to answer: the launcher asks Python."""
    place = _place(client, session, key)
    if place:
        _drop(place)


def sweep(now: int) -> None:
    """Remove the marks of sessions without an end, once a day: a week's marks are hundreds of files."""
    folder = os.path.join(launcher.folder_at_work(), launcher.SESSIONS)
    if not launcher.folder_at_work() or not os.path.isdir(folder):
        return
    swept = os.path.join(launcher.folder_at_work(), SWEPT)
    if abs(now - modified_at(swept)) < clock.DAY:
        return
    try:
        _write(swept, "", now)
    except OSError:
        return  # a folder that cannot be written is not swept either
    for name in list_names(folder):
        path = os.path.join(folder, name)
        if modified_at(path) < now - FORGOTTEN_AFTER:
            unlink_if_any(path)


def _told(workspace: Workspace, session: str, ask: dict[str, object]) -> str:
    """The lines of a mark; empty when a path has a line break."""
    from holdfast.session import session_files
    from holdfast.session.ccc_files import folder_of
    from holdfast.session.rules.model import STATE_FILE

    has_server = workspace.spools or os.path.exists(os.path.join(workspace.home, "forward"))
    state = os.path.join(workspace.root, folder_of(workspace), STATE_FILE)
    has_counted = bool(session_files.read(workspace, session, "stops"))
    is_asked = "percent" in ask and ask.get("asked") != 2
    is_plain = not (has_server or is_any("is_busy", workspace))
    is_calm = not (os.path.exists(state) or has_counted or is_asked)
    turn = {
        "session_id": session,
        "cwd": workspace.root,
        "transcript_path": session_files.read(workspace, session, "transcript").get("path", ""),
    }
    is_usual = (
        is_plain
        and workspace.home == f"{workspace.root}/.git/holdfast"
        and workspace.private == f"{workspace.home}/worktree"
    )
    lines = (
        f"usual {workspace.root}" if is_usual else "",
        workspace.root,
        workspace.home,
        state,
        ("plain calm" if is_calm else "plain") if is_plain else "",
        canonical_json.dumps(turn),
        workspace.private,
    )
    return "" if any("\n" in line for line in lines) else "".join(f"{line}\n" for line in lines)


def leave_quiet(workspace: Workspace) -> None:
    """`quiet` again, unless something holds; what came in between takes it away again."""
    path = latch.quiet_file(workspace)
    if os.path.exists(path) or _something_holds(workspace) or not os.path.isdir(workspace.home):
        return
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    if _something_holds(workspace):
        latch.disturb(workspace)


def _something_holds(workspace: Workspace) -> bool:
    return latch.read(workspace) is not None or is_any("disturbs", workspace)


def _place(client: str, session: str, key: str) -> str:
    folder = launcher.folder_at_work()
    if client in CLIENTS and CLIENTS[client].has_nameless_hooks:
        key = key or os.environ.get(launcher.CLIENT_VARIABLE, "")
    name = key or session
    is_name = bool(name) and name.replace("-", "a").replace("_", "a").replace(".", "a").isalnum()
    return os.path.join(folder, launcher.SESSIONS, f"{client}.{name}") if folder and is_name else ""


def _write(path: str, text: str, time: int) -> None:
    """The file with its time, in one step: the launcher may read it at any moment."""
    unfinished = f"{path}.{os.getpid()}"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, text.encode("utf-8", "surrogateescape"))
        os.utime(descriptor, ns=(time * 1_000_000, time * 1_000_000))
    finally:
        os.close(descriptor)
    os.rename(unfinished, path)


def _drop(place: str) -> None:
    for path in (place, place + SINCE, place + CAPTURED, place + SPENT):
        unlink_if_any(path)
