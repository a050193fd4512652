"""The files that an agent changed since the last commit, as git sees them."""

from __future__ import annotations

import os

from holdfast.fleet.current_life import streams_begun_in
from holdfast.fleet.rules.model import CHECKPOINTS, COMMS
from holdfast.git.repository import GitError
from holdfast.git.run import git
from holdfast.git.status import read_status
from holdfast.kernel.clock import instant_of
from holdfast.kernel.workspace import TOOL_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.fleet.context import FleetAgent

# What Holdfast itself writes for agents.
_OURS = (CHECKPOINTS, COMMS, ".epic_locks", TOOL_FOLDER)


def look(agent: FleetAgent, said: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that changed since the last commit, from the epic's folder; and those of the checkpoint
    that did not, because they were committed. What the agent has just `said` counts.

    In a worktree that several agents share, only changes in the agent's own feature are its own.
    """
    here, saved = agent.context.here, agent.state["checkpoint"] or {}
    if not here.workspace.git_dir:
        return [], []
    feature, listed = str(saved.get("feature", "")), saved.get("files_modified")
    known = [str(name) for name in listed] if isinstance(listed, list) else []
    try:
        hidden = [here.path(name) for name in (*_OURS, f"{feature}/STATUS")]
        found = [change["path"] for change in read_status(here.workspace.root, hidden)]
        names = [os.path.relpath(path, here.folder or ".") for path in found]
        changed = [name for name in names if not name.startswith("../")]
        left = [name for name in known if name not in changed and name not in said]
        tracked = _list_tracked(here.root, left) if left else []
        gone = [name for name in left if not os.path.lexists(os.path.join(here.root, name))]
        tracked += _list_removed(here.root, gone, saved.get("last_checkpoint")) if gone else []
    except (GitError, OSError):
        return [], []
    if len(streams_begun_in(here.workspace)) > 1:
        changed = [name for name in changed if name in known or name.startswith(f"{feature}/")]
    return changed, tracked


def _list_tracked(root: str, names: Sequence[str]) -> list[str]:
    output = git(root, "--literal-pathspecs", "ls-files", "-z", "--", *names)
    return [name for name in os.fsdecode(output).split("\0") if name in names]


def _list_removed(root: str, names: Sequence[str], since: object) -> list[str]:
    """Return the names that a commit removed after a time."""
    after = f"--since=@{(instant_of(since) or 0) // 1000}"
    options = (after, "--diff-filter=D", "--no-renames", "--format=", "--name-only", "--relative")
    output = git(root, "--literal-pathspecs", "log", "-z", *options, "--", *names)
    removed = os.fsdecode(output).split("\0")
    return [name for name in names if name in removed]
