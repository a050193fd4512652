"""Sessions whose turn a usage limit ended, and when they may go on.

Where the client's hooks tell of it, or its session ended so, a small file in the worktree keeps it, without
the journal. For the other sessions at work the end of their transcript is read: Codex has no hook for it.
The file holds until the session's next request, or until another session goes on with its work.
"""

from __future__ import annotations

import os
import time

from holdfast.clients.limits import find_limit, read_reset
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.canonical_json import text_of
from holdfast.kernel.plain_file import modified_at, write_aside
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import discover, worktrees
from holdfast.session import client_process, session_files, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NotRequired, TypedDict

    from holdfast.clients.usage.model import UsageLimit
    from holdfast.kernel.workspace import Workspace

    class LimitedSession(TypedDict):
        """`says` is the client's own text, `at` since when; `resets_at` is empty where no time was given.
        `is_measured`: the client told that the limit is used up, and no request was refused yet."""

        client: str
        session: str
        root: str
        says: str
        at: str
        resets_at: str
        is_measured: NotRequired[bool]


FOLDER = "limits"
NAMES = ("client", "session", "root", "says", "at", "resets_at")
LONGEST_TEXT = 300
# So long after its reset, or without one after it was met, a limit interests no person any more.
FORGOTTEN_AFTER = 12 * clock.HOUR
# The transcript of a turn that failed is complete so long after its hook.
WRITTEN_AFTER = 5_000


def keep(
    workspace: Workspace,
    client: str,
    session: str,
    limit: UsageLimit,
    *,
    is_measured: bool = False,
) -> bool:
    """Keep that a session stands at a limit; whether that is news."""
    path = path_of(workspace, session)
    known = _read(path)
    resets_at = limit["resets_at"] or read_reset(limit["says"], limit["at"])
    value = _make(workspace, client, session, {**limit, "resets_at": resets_at})
    if known:
        value["at"] = known["at"]
    if is_measured:
        value["is_measured"] = True
    if value == known:
        return False
    workspace.prepare_private(FOLDER)
    write_aside(path, canonical_json.dumps(value).encode())
    # What the transcript says after the hook is more exact, and no news.
    return known is None


def _make(workspace: Workspace, client: str, session: str, limit: UsageLimit) -> LimitedSession:
    return {
        "client": client,
        "session": session,
        "root": workspace.root,
        "says": " ".join(limit["says"].split())[:LONGEST_TEXT],
        "at": clock.precise(limit["at"]),
        "resets_at": clock.precise(limit["resets_at"]) if limit["resets_at"] else "",
    }


def keep_from_transcript(workspace: Workspace, client: str, session: str, transcript: str) -> bool:
    """The same, for a session whose turn or whose client ended without a word to a hook."""
    limit = find_limit(client, transcript)
    return limit is not None and keep(workspace, client, session, limit)


def path_of(workspace: Workspace, session: str) -> str:
    """The file of a session, whose id is safe for a path."""
    return os.path.join(workspace.private, FOLDER, session)


def read(workspace: Workspace, session: str) -> LimitedSession | None:
    return _read(path_of(workspace, session))


def list_limited(workspace: Workspace, now: int) -> list[LimitedSession]:
    """The sessions of all worktrees that stand at a limit, the next reset first."""
    found: dict[str, LimitedSession] = {}
    for root in filter(os.path.isdir, worktrees(workspace)):
        tree = workspace if root == workspace.root else discover(root, local=True)
        for one in (*_list_kept(tree), *_list_seen(tree)):
            if one["session"] not in found and _still_holds(workspace, one, now):
                found[one["session"]] = one
    return sorted(found.values(), key=lambda one: (one["resets_at"] or "9", one["at"]))


def _list_kept(tree: Workspace) -> Iterator[LimitedSession]:
    for path in session_files.list_small_files(os.path.join(tree.private, FOLDER)):
        one = _read(path)
        if one is not None and (one.get("is_measured") or not _went_on(tree, one)):
            yield one


def _went_on(tree: Workspace, one: LimitedSession) -> bool:
    """Whether the session's transcript says that its work went on since."""
    path = session_files.read(tree, one["session"], session_files.TRANSCRIPT).get("path", "")
    is_later = modified_at(path) > clock.parse(one["at"]) + WRITTEN_AFTER
    return is_later and find_limit(one["client"], path) is None


def _list_seen(tree: Workspace) -> Iterator[LimitedSession]:
    """The sessions at work whose transcript ends with a limit."""
    for session, kept in client_process.read_slots(tree).items():
        client = text_of(kept.get("client"))
        path = text_of(session_files.read(tree, session, session_files.TRANSCRIPT).get("path"))
        limit = find_limit(client, path)
        if limit is not None:
            yield _make(tree, client, session, limit)


def _still_holds(workspace: Workspace, one: LimitedSession, now: int) -> bool:
    if now - clock.parse(one["resets_at"] or one["at"]) > FORGOTTEN_AFTER:
        return False
    return not sessions.read_or_new(workspace, one["session"])["adopted_by"]


def _read(path: str) -> LimitedSession | None:
    value: LimitedSession | None = session_files.read_texts(path, NAMES)
    try:
        for instant in filter(None, (value["at"], value["resets_at"]) if value else ()):
            clock.parse(instant)
    except ValueError:
        return None
    return value


def describe(one: LimitedSession, now: int) -> str:
    """The state of a session at a limit, in one line."""
    if not one["resets_at"]:
        return f"is at a usage limit (no reset time was given): {one['says']}"
    left = clock.parse(one["resets_at"]) - now
    when = local_time(one["resets_at"])
    if left <= 0:
        return f"can go on since {when}, when its usage limit was reset"
    return f"is at a usage limit until {when} (in {span(left)}): {one['says']}"


def command_for(one: LimitedSession, here: str, now: int) -> str:
    """What a person types to go on with the session's work."""
    place = "" if one["root"] == here else f" -C {quote(one['root'])}"
    is_ahead = bool(one["resets_at"]) and clock.parse(one["resets_at"]) > now
    return f"holdfast resume --in {quote(one['client'])}{' --at-reset' if is_ahead else ''}{place}"


def span(milliseconds: int) -> str:
    """`2 h 10 min`; less than a minute is one."""
    minutes = max(1, -(-milliseconds // clock.MINUTE))
    days, rest = divmod(minutes, 24 * 60)
    hours, minutes = divmod(rest, 60)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def local_time(instant: str) -> str:
    """`15:00` of this day, `2026-11-18 15:00` of another one; of this machine's clock."""
    then, now = time.localtime(clock.parse(instant) / 1000), time.localtime()
    form = "%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, then)
