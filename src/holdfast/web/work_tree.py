"""What changed in the work tree between two checkpoints, from their snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from holdfast.git import snapshot
from holdfast.git.run import git
from holdfast.kernel.errors import HoldfastError
from holdfast.session.world import CONTROL_FILES, is_own

GIT_SECONDS = 5.0
MOST_FILES = 60
NOT_OURS = "Its folder is no worktree of this workspace."
# A patch is shown up to so many lines; beyond, git itself is the better reader.
MOST_LINES, LONGEST_LINE = 400, 300
OPTIONS = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color")
# The files of the protocol itself: what they say is shown as what the checkpoint changed.
WITHOUT = tuple(f":(top,exclude,glob)**/{name}" for name in CONTROL_FILES)


class Changed(TypedDict):
    """`patch` is empty if it is too long; `command` shows all of it. `problem` says why there is
    nothing to compare."""

    files: list[dict[str, str | int | None]]
    more: int
    added: int
    removed: int
    patch: list[str]
    command: str
    problem: str


class Uncommitted(Changed):
    """A change with the untracked files, which no diff shows."""

    new: list[str]
    more_new: int


def compare_with_commit(worktree: str, known: Sequence[str]) -> Uncommitted:
    """What changed in a worktree since its last commit. Git runs only in a worktree of the workspace:
    an agent names the one of its gate."""
    if worktree not in known:
        return {**_nothing(NOT_OURS), "new": [], "more_new": 0}
    try:
        changed = _compare(worktree, "HEAD")
    except (HoldfastError, OSError, ValueError) as error:
        changed = _nothing(str(error))
    try:
        wanted = ("--others", "--exclude-standard", "-z", "--", *WITHOUT)
        output = git(worktree, "ls-files", *wanted, seconds=GIT_SECONDS)
    except (HoldfastError, OSError, ValueError):
        output = b""
    names = output.decode("utf-8", "replace").split("\0")
    new = [path for path in names if path and not is_own(path)]
    return {**changed, "new": new[:MOST_FILES], "more_new": max(0, len(new) - MOST_FILES)}


def compare_checkpoints(worktree: str, at: str, before: str, known: Sequence[str]) -> Changed:
    """What changed from the checkpoint before, or from the base commit, to the checkpoint at a
    time."""
    if worktree not in known:
        return _nothing(NOT_OURS)
    try:
        old, new = _find_ends(worktree, at, before)
        if not new:
            return _nothing("No snapshot of the work tree was kept.")
        return _compare(worktree, old, new) if old else _nothing("There was no commit before it.")
    except (HoldfastError, OSError, ValueError) as error:
        return _nothing(str(error))


def _find_ends(worktree: str, at: str, before: str) -> tuple[str, str]:
    """The two commits to compare. A snapshot that equals the one before was not taken."""
    found = [one for one in snapshot.list_snapshots(worktree) if one["at"] <= at]
    if not found:
        return "", ""
    new = found[0]
    earlier = [one for one in found if before and one["at"] <= before]
    old = earlier[0]["commit"] if earlier else new["parent"]
    return old or "", new["commit"]


def _compare(worktree: str, *ends: str) -> Changed:
    wanted = (*OPTIONS, *ends, "--", *WITHOUT)
    output = git(worktree, "diff", "--numstat", "-z", *wanted, seconds=GIT_SECONDS)
    rows = [row.split("\t", 2) for row in output.decode("utf-8", "replace").split("\0") if row]
    files = [
        {"path": path, "added": _count(added), "removed": _count(removed)}
        for added, removed, path in (row for row in rows if len(row) == 3)
    ]
    added = sum(_count(row[0]) or 0 for row in rows)
    removed = sum(_count(row[1]) or 0 for row in rows if len(row) > 1)
    patch: list[str] = []
    if files and added + removed <= MOST_LINES and len(files) <= MOST_FILES:
        text = git(worktree, "diff", *wanted, seconds=GIT_SECONDS)
        patch = [line[:LONGEST_LINE] for line in text.decode("utf-8", "replace").split("\n")[:-1]][
            : 2 * MOST_LINES
        ]
    return {
        "files": files[:MOST_FILES],
        "more": max(0, len(files) - MOST_FILES),
        "added": added,
        "removed": removed,
        "patch": patch,
        "command": " ".join(("git diff", *(end[:12] for end in ends))),
        "problem": "",
    }


def _count(text: str) -> int | None:
    """A number of lines; None for a binary file."""
    return int(text) if text.isascii() and text.isdigit() else None


def _nothing(problem: str) -> Changed:
    return {
        "files": [],
        "more": 0,
        "added": 0,
        "removed": 0,
        "patch": [],
        "command": "",
        "problem": problem,
    }
