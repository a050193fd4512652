"""The states at the beginning and the end of a prompt, kept by processes that no client waits for.

The prompt's hook leaves a mark; the state is taken behind it. While the mark is there, the first tool that may change
something waits a little. When nothing has changed since the state before, that one is used again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.kernel import clock
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import new_id
from holdfast.undo import ledger
from holdfast.undo.rules.prompts import open_entry
from holdfast.undo.store import Store

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.rules.prompts import PromptsState, Size, TreeState


def begin(
    workspace: Workspace, client: str, session: str, prompt: str, *, asked_at: int, now: int
) -> None:
    """Keep the work tree as it is before a prompt, which was sent at `asked_at`."""
    from holdfast.undo.recovery import finish_unfinished

    finish_unfinished(workspace, now)
    store = Store(workspace)
    with store.shadow() as shadow:
        state = store.take(shadow, clock.now())
        entries = ledger.read(workspace)
        left = open_entry(entries, session)
        if left is not None:
            # Nobody saw it end: a person's edits since cannot be told apart.
            _write_end(workspace, store, entries, session, state, client, "interrupted", now)
        command = {
            "do": "begin",
            "id": new_id(),
            "client": client,
            "session": session,
            "text": prompt,
            "before": state,
            "how": "late" if clock.now() - asked_at > LATE else "",
        }
        reached("before a prompt is recorded")
        ledger.write(workspace, command, actor=client, now=now)


# A state that is taken so long after its prompt may hold what the first tool changed.
LATE = 3_000


def end(workspace: Workspace, client: str, session: str, means: str, now: int) -> None:
    """Keep the work tree as a prompt left it. A stop without a prompt, as after work in the background, is a prompt
    without a text if anything changed."""
    entries = ledger.read(workspace)
    if open_entry(entries, session) is None and (means != "stop" or not entries["entries"]):
        return
    store = Store(workspace)
    with store.shadow() as shadow:
        state = store.take(shadow, clock.now())
        entries = ledger.read(workspace)
        if open_entry(entries, session) is None:
            before = _newest(entries)
            if before is None or before["files"] == state["files"]:
                return
            command = {
                "do": "begin",
                "id": new_id(),
                "client": client,
                "session": session,
                "text": "",
                "before": before,
                "how": "interrupted",
            }
            ledger.write(workspace, command, actor=client, now=now)
            entries = ledger.read(workspace)
        _write_end(workspace, store, entries, session, state, client, "", now)


def _newest(entries: PromptsState) -> TreeState | None:
    last = entries["entries"][-1]
    return last["after"] if last["ended_at"] else None


def _write_end(
    workspace: Workspace,
    store: Store,
    entries: PromptsState,
    session: str,
    state: TreeState,
    client: str,
    how: str,
    now: int,
) -> None:
    entry = open_entry(entries, session)
    assert entry is not None
    size = measure(store, entry["before"], state)
    command = {"do": "end", "session": session, "after": state, "size": size, "how": how}
    ledger.write(workspace, command, actor=client, now=now)


def measure(store: Store, before: TreeState, after: TreeState) -> Size:
    """Return how many files and lines differ between two states."""
    if before["files"] == after["files"]:
        changed = 0 if before["extras"] == after["extras"] else 1
        return {"files": changed, "added": 0, "removed": 0}
    counts = count_lines(store, before["files"], after["files"])
    return {
        "files": len(counts),
        "added": sum(added or 0 for added, _ in counts.values()),
        "removed": sum(removed or 0 for _, removed in counts.values()),
    }


def count_lines(store: Store, old: str, new: str) -> dict[str, tuple[int | None, int | None]]:
    """Return the lines that each file gained and lost; None for a file that is no text."""
    words = ("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-textconv", old, new)
    found: dict[str, tuple[int | None, int | None]] = {}
    for line in os.fsdecode(store.git(*words)).split("\0"):
        if line:
            added, removed, path = line.split("\t", 2)
            found[path] = (_number(added), _number(removed))
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
