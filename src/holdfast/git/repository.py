"""Where the git things of a worktree are, read from files: no git process on the hook path."""

from __future__ import annotations

import os

from holdfast.git.errors import GitError, not_a_repository
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import Usage

MAIN = "main"
LINKED = "linked-"
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Place:
    """The top of one work tree, its own git dir, and the one that all worktrees share."""

    __slots__ = ("common_dir", "git_dir", "inside", "top")

    def __init__(self, top: str, git_dir: str, common_dir: str, inside: str) -> None:
        self.top = top
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.inside = inside
        """The asked folder below the top, `""` or ending in a slash."""

    @property
    def key(self) -> str:
        """The name of this worktree in refs and files; it survives `git worktree move`."""
        if self.git_dir == self.common_dir:
            return MAIN
        name = os.path.basename(self.git_dir)
        return LINKED + (name if PLAIN.issuperset(name) else id_of(name)[:12])

    def from_root(self, path: str) -> str:
        """A path below the top as it is seen from the asked folder."""
        if not self.inside:
            return path
        slash = "/" if path.endswith("/") else ""
        return os.path.relpath(path, self.inside) + slash

    def from_top(self, path: str) -> str:
        """A path given from the asked folder, as git names it; refused when it leaves that folder."""
        root = os.path.join(self.top, self.inside).rstrip("/")
        whole = os.path.normpath(os.path.join(root, path))
        if "\0" in path or (whole != root and not whole.startswith(f"{root}/")):
            raise Usage(
                f"{path!r} leaves the workspace.",
                hint="Name files by their path from the workspace's root.",
                kind="outside_workspace",
            )
        return self.inside + whole[len(root) + 1 :]


def locate(root: str) -> Place:
    """The work tree that a folder is in."""
    start = folder = os.path.realpath(root)
    while True:
        entry = os.path.join(folder, ".git")
        if os.path.isdir(entry):
            git_dir = entry
            break
        if os.path.isfile(entry):
            git_dir = _pointer(entry, "gitdir: ", folder)
            break
        parent = os.path.dirname(folder)
        if parent == folder:
            raise not_a_repository(root)
        folder = parent
    common = os.path.join(git_dir, "commondir")
    common_dir = _pointer(common, "", git_dir) if os.path.isfile(common) else git_dir
    inside = start[len(folder) :].strip("/")
    return Place(folder, git_dir, common_dir, f"{inside}/" if inside else "")


def _pointer(file: str, prefix: str, base: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            text = opened.read().strip("\n")
    except OSError as error:
        raise GitError(f"{file} cannot be read: {error.strerror}.") from error
    if not text.startswith(prefix):
        raise GitError(f"{file} does not point to a git dir.", kind="not_a_repository")
    return os.path.realpath(os.path.join(base, text[len(prefix) :]))
