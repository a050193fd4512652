"""The commit that a task's program made, if it made one."""

from __future__ import annotations

from holdfast.git.errors import GitError
from holdfast.git.head import read_head
from holdfast.git.run import git


def head_now(root: str) -> str:
    """The commit of this worktree; empty where there is none, or no git."""
    try:
        return read_head(root)["commit"] or ""
    except GitError:
        return ""


def commit_since(root: str, before: str) -> tuple[str, str]:
    """Its name and the first line of its message; empty when HEAD did not move."""
    now = head_now(root)
    if now in ("", before):
        return "", ""
    try:
        return now, git(root, "log", "-1", "--format=%s", now).decode("utf-8", "replace").strip()
    except GitError:
        return now, ""
