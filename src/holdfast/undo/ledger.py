"""The record of a worktree's prompts: which stream it is, how it is read and written."""

from __future__ import annotations

from holdfast.git.repository import MAIN, GitError, is_object_name, locate
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.digest import id_of
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.undo.rules import prompts as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.rules.prompts import Entry, PromptsState


def stream_of(workspace: Workspace) -> str:
    """Return the stream of this worktree. On a server, the worktrees of each machine have streams of their own; a journal in
    a file goes with its repository, also in a copy."""
    from holdfast.kernel import config

    try:
        key = locate(workspace.root).key
    except GitError:
        key = MAIN
    has_file = not workspace.url and workspace.exists()
    if not config.load(workspace, workspace.journal if has_file else None)["journal.url"]:
        return f"prompts:{key}"
    from holdfast.remote.identity import own_machine

    return f"prompts:{id_of(f'{own_machine(workspace)} {key}')[:20]}"


def read(workspace: Workspace) -> PromptsState:
    """Return the prompts of this worktree, oldest first."""
    if not workspace.exists():
        return rules.initial("")
    state: PromptsState = load(workspace.journal, rules, stream_of(workspace))[0]
    return {"entries": [one for one in state["entries"] if _is_sound(one)]}


def _is_sound(entry: Entry) -> bool:
    """Return whether a prompt's states name objects of git: in the journal of an archive they may be options of git's."""
    for state in (entry["before"], entry["after"]):
        if state is None:
            continue
        needed = (state["commit"], state["files"], state["extras"])
        known = (state["head"], state["index"])
        if not all(map(is_object_name, (*needed, *filter(None, known)))):
            return False
    return True


def write(workspace: Workspace, command: dict[str, Any], *, actor: str, now: int) -> None:
    """Append what happened to a prompt, durably."""
    order = Order(stream_of(workspace), command)
    commit(open_writer(workspace), [order], actor=actor, now=now)
