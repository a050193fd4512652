"""Where the git things of a worktree are, and its commit and branch, read from files: no git process and
no heavy import on the hook path."""

from __future__ import annotations

import os

from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class GitHead(TypedDict):
        commit: str | None
        """None on a branch without a commit, and when it is not known."""
        branch: str | None
        """`main` for refs/heads/main; the whole name of any other ref; None when detached."""
        detached: bool
        known: bool
        """False when the files do not say: reftable, or a HEAD that cannot be read."""


MAIN = "main"
LINKED = "linked-"
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
LARGEST_REFS = 256 * 1024 * 1024
BRANCHES = "refs/heads/"
# What a HEAD in a repository with reftables says, so that older gits see a repository at all.
ELSEWHERE = "refs/heads/.invalid"
SYMBOLIC = "ref:"
# Git's own bound for a symbolic ref that names a symbolic ref.
DEPTH = 5
OBJECT_NAME = frozenset("0123456789abcdef")
PRIVATE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")


class GitError(HoldfastError):
    """Git could not do it. Kinds: git_missing, not_a_repository, git_timeout, git_failed."""

    kind = "git_failed"


def not_a_repository(root: str) -> GitError:
    """The refusal for a folder that is in no work tree."""
    return GitError(
        f"{root} is in no git work tree.",
        hint="Run `git init` where the project begins.",
        kind="not_a_repository",
    )


class Place:
    """The top of one work tree, its own git dir, and the one that all worktrees share."""

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
    common_dir = _pointer(common, "", git_dir) if os.path.lexists(common) else git_dir
    inside = start[len(folder) :].strip("/")
    return Place(folder, git_dir, common_dir, f"{inside}/" if inside else "")


def _pointer(file: str, prefix: str, base: str) -> str:
    try:
        text = os.fsdecode(read_plain(file)).strip("\n")
    except OSError as error:
        raise GitError(f"{file} cannot be read: {error.strerror}.") from error
    if not text.startswith(prefix):
        raise GitError(f"{file} does not point to a git dir.", kind="not_a_repository")
    return os.path.realpath(os.path.join(base, text[len(prefix) :]))


def read_head(root: str) -> GitHead:
    """HEAD of the worktree that a folder is in."""
    return head_of(locate(root))


def head_of(place: Place) -> GitHead:
    """HEAD of a worktree whose place is known."""
    text = _read(os.path.join(place.git_dir, "HEAD"))
    if text is None or os.path.isdir(os.path.join(place.common_dir, "reftable")):
        return _unknown()
    if is_object_name(text):
        return {"commit": text, "branch": None, "detached": True, "known": True}
    name = text[len(SYMBOLIC) :].strip()
    if not text.startswith(SYMBOLIC) or name == ELSEWHERE:
        return _unknown()
    commit, known = _resolve(place, name)
    branch = name.removeprefix(BRANCHES)
    return {"commit": commit, "branch": branch, "detached": False, "known": known}


def _unknown() -> GitHead:
    return {"commit": None, "branch": None, "detached": False, "known": False}


def _resolve(place: Place, name: str) -> tuple[str | None, bool]:
    """The commit of a ref, None when it is not born yet; and whether the files said so."""
    for _ in range(DEPTH):
        if ".." in name or not name.startswith("refs/"):
            return None, False
        folder = place.git_dir if name.startswith(PRIVATE) else place.common_dir
        text = _read(os.path.join(folder, name))
        if text is None:
            packed = _find_packed(place.common_dir, name)
            return packed, packed is None or is_object_name(packed)
        if is_object_name(text):
            return text, True
        if not text.startswith(SYMBOLIC):
            return None, False
        name = text[len(SYMBOLIC) :].strip()
    return None, False


def _find_packed(common_dir: str, name: str) -> str | None:
    try:
        data = b"\n" + read_plain(os.path.join(common_dir, "packed-refs"), LARGEST_REFS)
    except OSError:
        return None
    end = data.find(b" " + os.fsencode(name) + b"\n")
    return data[data.rfind(b"\n", 0, end) + 1 : end].decode("ascii", "replace") if end > 0 else None


def _read(file: str) -> str | None:
    try:
        return os.fsdecode(read_plain(file)).strip()
    except OSError:
        return None


def is_object_name(text: object) -> bool:
    """Return whether a text is the whole name of an object. Git takes other texts for options and for expressions."""
    return isinstance(text, str) and len(text) in (40, 64) and OBJECT_NAME.issuperset(text)
