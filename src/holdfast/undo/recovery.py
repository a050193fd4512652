"""An undo that was cut off: the next command finishes it, or takes it back where nothing had changed yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.kernel.text import plural
from holdfast.undo.carry_out import finish, read_intent, take_back
from holdfast.undo.ledger import read
from holdfast.undo.store import Store

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace


def finish_unfinished(workspace: Workspace, now: int) -> str:
    """Finish an undo that was cut off, or take it back. Return what was done; empty where none was."""
    store = Store(workspace)
    if read_intent(store) is None:
        return ""
    with store.shadow():
        intent = read_intent(store)
        if intent is None:  # another process was at it
            return ""
        known = {one["id"] for one in read(workspace)["entries"]}
        if not intent["is_ready"] or intent["id"] not in known:
            take_back(store, intent)
            return f"An undo was cut off at {intent['at']} before it changed anything. It was taken back."
        left = finish(store, intent)
    files = plural(len(intent["steps"]), "file")
    said = f"An undo of {files} was cut off at {intent['at']}. It was finished now."
    return f"{said} Changed since, and left alone: {', '.join(left)}." if left else said
