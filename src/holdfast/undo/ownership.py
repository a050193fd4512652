"""Whose change it was, where two sessions worked in one folder at the same time.

Between two states only one session was at work, or several. What changed while a session was alone is its own. For the
rest, what is known of each session's edits decides; where that says nothing, a file is mixed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from holdfast.clients.discovery import finder_of
from holdfast.hooks import shared_worktree
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.session import sessions
from holdfast.session.client_process import lives

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.rules.prompts import Entry, TreeState
    from holdfast.undo.store import Store

Whose = Literal["mine", "other", "mixed"]
# After the end of a prompt that has not ended.
NEVER = "9999"


def find_end(workspace: Workspace, entry: Entry) -> str:
    """Return when a prompt ended; empty while its session is at work. No hook sees the end of a client that was killed:
    what its session wrote down last is the end then."""
    if entry["ended_at"] or lives(workspace, entry["session"], clock.now()):
        return entry["ended_at"]
    client: Any = entry["client"]
    try:
        sources = finder_of(client).find(entry["session"])
        times = [os.stat(one["path"]).st_mtime_ns // 1_000_000 for one in sources]
    except (HoldfastError, OSError):
        return ""
    return clock.precise(max(times)) if times else ""


def find_others(workspace: Workspace, entry: Entry, entries: Sequence[Entry]) -> list[Entry]:
    """Return the prompts of other sessions that were at work at the same time, with their ends."""
    end = entry["ended_at"] or NEVER
    found: list[Entry] = [
        {**one, "ended_at": find_end(workspace, one)}
        for one in entries
        if one["kind"] == "prompt"
        and one["session"] != entry["session"]
        and one["began_at"] < end
        and (one["ended_at"] or NEVER) > entry["began_at"]
    ]
    return [one for one in found if (one["ended_at"] or NEVER) > entry["began_at"]]


def make_owner(
    workspace: Workspace,
    store: Store,
    entry: Entry,
    after: TreeState,
    entries: Sequence[Entry],
) -> Callable[[str], Whose]:
    """Return the function that says of a path that changed during a prompt whether the prompt changed it."""
    others = find_others(workspace, entry, entries)
    if not others:
        return lambda _: "mine"
    segments = _segments(entry, after, others)
    shared = _changed(store, [one for one in segments if one[2]])
    theirs: set[str] = set()
    for session in {one["session"] for one in others}:
        theirs |= _touched(workspace, session, shared)
    ours = _touched(workspace, entry["session"], shared)
    alone = _changed(store, [one for one in segments if not one[2]])

    def own(path: str) -> Whose:
        if path not in shared or (path in ours and path not in theirs):
            return "mine"
        if path in theirs and path not in ours and path not in alone:
            return "other"
        return "mixed"

    return own


def _segments(
    entry: Entry, after: TreeState, others: Sequence[Entry]
) -> list[tuple[TreeState, TreeState, bool]]:
    """Return the spans between states during a prompt, and whether another session was at work in each."""
    end = entry["ended_at"] or NEVER
    marks: list[tuple[str, TreeState]] = [(entry["began_at"], entry["before"]), (end, after)]
    for one in others:
        if one["began_at"] > entry["began_at"]:
            marks.append((one["began_at"], one["before"]))
        if one["ended_at"] and one["ended_at"] < end and one["after"] is not None:
            marks.append((one["ended_at"], one["after"]))
    marks.sort(key=lambda mark: mark[0])
    found = []
    for (start, old), (stop, new) in pairwise(marks):
        busy = any(one["began_at"] < stop and (one["ended_at"] or NEVER) > start for one in others)
        found.append((old, new, busy))
    return found


def _changed(store: Store, segments: Sequence[tuple[TreeState, TreeState, bool]]) -> set[str]:
    found: set[str] = set()
    for old, new, _ in segments:
        found |= store.compare(old["files"], new["files"]).keys()
        if old["extras"] != new["extras"]:
            ours, theirs = store.extras(old)["modes"], store.extras(new)["modes"]
            found |= {one for one in {*ours, *theirs} if ours.get(one) != theirs.get(one)}
    return found


def _touched(workspace: Workspace, session: str, paths: set[str]) -> set[str]:
    """Return the paths that a session is known to have edited: from its transcript, and from its hooks."""
    found: set[str] = set()
    try:
        observed = sessions.read_or_new(workspace, session).get("observed")
    except HoldfastError:
        observed = None
    if observed:
        for path, file in observed["seen"].get("files", {}).items():
            if file["edits"]:
                whole = os.path.normpath(os.path.join(workspace.root, path))
                found.add(os.path.relpath(whole, workspace.root))
    for path in paths:
        if session in shared_worktree.list_editors(workspace, os.path.join(workspace.root, path)):
            found.add(path)
    return found
