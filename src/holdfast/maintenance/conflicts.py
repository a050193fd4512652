"""Open conflicts of edits by hand: list them, show both texts, and end one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict

from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.plain_file import write_aside
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer, rules_of
from holdfast.kernel.text import fit, one_line
from holdfast.kernel.views.absorb import CONFLICTS_FILE, streams_in_conflict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.kernel.conflicts import EditConflict
    from holdfast.kernel.workspace import Workspace


class OpenConflict(TypedDict):
    """`kept` is what the journal and the file say, `edited` what the editor wrote."""

    id: str
    stream: str
    path: str
    place: str
    kept: str
    edited: str


EDITED, KEPT = TAKES = ("edited", "kept")
# Characters of each text, where a line must hold both.
LONGEST_SHOWN = 60
LONGEST_ASKED = 2000


def list_conflicts(workspace: Workspace) -> list[OpenConflict]:
    """Return the open conflicts of edits that were made in this workspace, on this machine."""
    return list(_open(workspace, streams_in_conflict(workspace)))


def list_all_conflicts(workspace: Workspace) -> list[OpenConflict]:
    """Return the same from the states of all streams that have files here; slower, and needs no list."""
    rows = workspace.journal.views(worktree=workspace.root) if workspace.exists() else []
    streams = [*streams_in_conflict(workspace), *(row["stream"] for row in rows)]
    return list(_open(workspace, dict.fromkeys(streams)))


def _open(workspace: Workspace, streams: Iterable[str]) -> Iterator[OpenConflict]:
    if not workspace.exists():
        return
    for stream in streams:
        for one in _conflicts_of(workspace, stream):
            yield {
                "id": one["id"],
                "stream": stream,
                "path": one["path"],
                "place": one["place"],
                "kept": one["ours"],
                "edited": one["theirs"],
            }


def _conflicts_of(workspace: Workspace, stream: str) -> list[EditConflict]:
    try:
        if workspace.journal.head(stream) is None:
            return []
        state, _ = load(workspace.journal, rules_of(stream), stream)
    except HoldfastError:
        return []  # `doctor` says what is wrong with the stream
    return (state.get("conflicts") or []) if isinstance(state, dict) else []


def describe(conflict: OpenConflict, longest: int = LONGEST_SHOWN) -> str:
    """Return a conflict in one line, with both texts."""
    edited = fit(one_line(conflict["edited"]), longest)
    kept = fit(one_line(conflict["kept"]), longest)
    what = f'{conflict["place"]} in {conflict["path"]} was edited by hand to "{edited}"'
    return f'{what}, and had become "{kept}" meanwhile'


def settle(workspace: Workspace, id: str, take: str, *, actor: str, now: int) -> OpenConflict:
    """End a conflict: the editor's text counts now, or what was kept stays. The edit may be a person's, so
    only a person drops it; an agent may let it count."""
    if take not in TAKES:
        raise Usage(f"{take!r:.40} is not one of {', '.join(TAKES)}.")
    conflict = find(workspace, id)
    if take == KEPT:
        # It loads the JSON module and more; every status loads this module.
        from holdfast.people.person import require

        shown = [describe(conflict, LONGEST_ASKED)]
        require(workspace, f"drop the edit by hand {conflict['id'][:8]}", shown, now=now)
    command = {"do": "settle", "conflict": conflict["id"], "take": take}
    commit(open_writer(workspace), [Order(conflict["stream"], command)], actor=actor, now=now)
    _forget_settled(workspace)
    return conflict


def find(workspace: Workspace, id: str) -> OpenConflict:
    """Return the open conflict with this id, or a unique beginning of it."""
    found = [one for one in list_all_conflicts(workspace) if id and one["id"].startswith(id)]
    if not found:
        raise NotFound(
            f"There is no open conflict {id!r:.40}.", hint="holdfast conflicts lists them."
        )
    if len(found) > 1:
        names = ", ".join(one["id"] for one in found[:5])
        raise Usage(f"{id!r:.40} may be {names}.", hint="Give more of its letters.")
    return found[0]


def _forget_settled(workspace: Workspace) -> None:
    with workspace.lock():
        left = [
            stream for stream in streams_in_conflict(workspace) if _conflicts_of(workspace, stream)
        ]
        path = os.path.join(workspace.home, CONFLICTS_FILE)
        if left:
            write_aside(path, "".join(f"{stream}\n" for stream in left).encode())
        elif os.path.lexists(path):
            os.unlink(path)
