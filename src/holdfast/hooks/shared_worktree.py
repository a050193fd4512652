"""Two sessions at work in one worktree: when both edit the same file, both are told, once.

The folder `shared` of the private folder is there while two sessions with hooks run in a worktree. Only then does the
launcher (`clients/hook.sh`) ask Python before a tool. It holds a file for each path that was edited, by the
digest of the path; `tell.SESSION`, what a session is to read; and `tell`, which says that there is such a file.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import id_of
from holdfast.kernel.plain_file import read_plain, unlink_if_any
from holdfast.session import client_process, session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent, HookOutcome
    from holdfast.kernel.workspace import Workspace

FOLDER = "shared"
TELL = "tell"
SETTING = "session.same_file"
# The other session's edits that are looked at when a second one starts.
MOST_FILES = 200


def begin(workspace: Workspace, others: list[dict[str, Any]], now: int) -> None:
    """A session starts beside others that are at work: leave the mark, with what they edited so far."""
    workspace.prepare_private(FOLDER)
    for other in others:
        for path in _edited_before(workspace, other, now):
            _note_edit(workspace, path, other, now)


def end(workspace: Workspace, session: str, now: int) -> None:
    """A session ended: take the mark away, unless two others are still at work."""
    if (
        os.path.isdir(_folder(workspace))
        and len(client_process.others_at_work(workspace, session, now)) < 2
    ):
        _remove(workspace)


def before_edit(event: HookEvent, workspace: Workspace, now: int) -> HookOutcome:
    """Note the files that a tool is about to change. For one that another session at work here edited:
    tell both, once, or deny it if the setting says so."""
    if not event.paths or not event.session or not os.path.isdir(_folder(workspace)):
        return {}
    others = {
        other["session"]: other
        for other in client_process.others_at_work(workspace, event.session, now)
    }
    if not others:
        _remove(workspace)  # the other one was killed
        return {}
    own = session_files.read(workspace, event.session, client_process.NAME)
    for named in event.paths:
        path = os.path.normpath(os.path.join(event.folder or workspace.root, named))
        known = list_editors(workspace, path)
        met = [known[name] for name in known if name in others]
        if met and _denies(workspace):
            _tell_once(workspace, path, own, met)
            return {
                "deny": f"{_who(met[0])} works in this worktree too and edited {path}. Change "
                "another file, or tell your person that both of you need this one."
            }
        _note_edit(workspace, path, own or {"session": event.session, "client": ""}, now)
        if met:
            _tell_once(workspace, path, own, met)
    return {}


def unread(workspace: Workspace, session: str, now: int) -> str:
    """What a session is to read about the other one's edits; it is given once."""
    path = os.path.join(_folder(workspace), f"{TELL}.{session}")
    try:
        text = read_plain(path).decode("utf-8", "replace").strip()
        os.unlink(path)
    except OSError:
        return ""
    if not any(name.startswith(f"{TELL}.") for name in os.listdir(_folder(workspace))):
        unlink_if_any(os.path.join(_folder(workspace), TELL))
        if not client_process.others_at_work(workspace, session, now):
            _remove(workspace)
    return text


def _tell_once(
    workspace: Workspace, path: str, own: dict[str, Any], met: list[dict[str, Any]]
) -> None:
    shown = os.path.relpath(path, workspace.root)
    for other in met:
        pair = "+".join(sorted((str(own.get("session")), str(other["session"]))))
        told = os.path.join(_folder(workspace), f"told-{id_of(f'{path} {pair}')}")
        try:
            os.close(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except OSError:
            continue  # both know
        again = f"Read {shown} again before you change it, and keep what is not yours."
        _leave(
            workspace, own, f"{_who(other)} works in this worktree too and edited {shown}. {again}"
        )
        _leave(
            workspace,
            other,
            f"{_who(own)} works in this worktree too and now edits {shown}, "
            f"which you edited. {again}",
        )


def _leave(workspace: Workspace, whose: dict[str, Any], text: str) -> None:
    session = str(whose.get("session") or "")
    if not session:
        return
    _append(os.path.join(_folder(workspace), f"{TELL}.{session}"), f"Holdfast: {text}\n")
    _append(os.path.join(_folder(workspace), TELL), "")


def _denies(workspace: Workspace) -> bool:
    from holdfast.kernel import config

    journal = workspace.journal if workspace.exists() else None
    return str(config.load(workspace, journal)[SETTING]) == "deny"


def _edited_before(workspace: Workspace, other: dict[str, Any], now: int) -> list[str]:
    from holdfast.session import observation

    path = session_files.read(workspace, other["session"], session_files.TRANSCRIPT).get("path", "")
    looked = observation.look(workspace, other["session"], transcript=str(path), now=now)
    files = looked["seen"]["files"] if looked is not None else {}
    edited = [name for name, file in files.items() if file["edits"]]
    return [os.path.normpath(os.path.join(workspace.root, name)) for name in edited[:MOST_FILES]]


def _note_edit(workspace: Workspace, path: str, whose: dict[str, Any], now: int) -> None:
    line = {"session": whose.get("session"), "client": whose.get("client"), "at": clock.stamp(now)}
    _append(os.path.join(_folder(workspace), id_of(path)), canonical_json.dumps(line) + "\n")


def list_editors(workspace: Workspace, path: str) -> dict[str, dict[str, Any]]:
    """Who edited a file, by session; the last time of each."""
    try:
        lines = read_plain(os.path.join(_folder(workspace), id_of(path))).splitlines()
    except OSError:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        try:
            one = canonical_json.loads(line.decode())
        except ValueError:
            continue
        if isinstance(one, dict) and isinstance(one.get("session"), str):
            found[one["session"]] = one
    return found


def _who(one: dict[str, Any]) -> str:
    from holdfast.clients.table import title_of

    name = title_of(str(one.get("client") or "")) or "Another session"
    return f"{name} {str(one.get('session') or '')[:8]}".strip()


def _folder(workspace: Workspace) -> str:
    return os.path.join(workspace.private, FOLDER)


def _append(path: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, text.encode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def _remove(workspace: Workspace) -> None:
    """Take the mark away; what a session at work has not read yet stays until then."""
    try:
        names = os.listdir(_folder(workspace))
        kept = {
            name for name in names if name.startswith(f"{TELL}.") and _has_slot(workspace, name)
        }
        for name in names:
            if name not in kept and not (kept and name == TELL):
                unlink_if_any(os.path.join(_folder(workspace), name))
        if not kept:
            os.rmdir(_folder(workspace))
    except OSError:
        return


def _has_slot(workspace: Workspace, name: str) -> bool:
    session = name.removeprefix(f"{TELL}.")
    return bool(session_files.read(workspace, session, client_process.NAME))
