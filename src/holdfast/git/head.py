"""Which commit and which branch a worktree is on, from the files of the repository alone.

The automated profile starts no git process, and a hook could not pay for one.
"""

from __future__ import annotations

import os

from holdfast.git.repository import Place, locate

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


BRANCHES = "refs/heads/"
# What a HEAD in a repository with reftables says, so that older gits see a repository at all.
ELSEWHERE = "refs/heads/.invalid"
SYMBOLIC = "ref:"
# Git's own bound for a symbolic ref that names a symbolic ref.
DEPTH = 5
OBJECT_NAME = frozenset("0123456789abcdef")
PRIVATE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")


def read_head(root: str) -> GitHead:
    """HEAD of the worktree that a folder is in."""
    return head_of(locate(root))


def head_of(place: Place) -> GitHead:
    """HEAD of a worktree whose place is known."""
    text = _read(os.path.join(place.git_dir, "HEAD"))
    if text is None or os.path.isdir(os.path.join(place.common_dir, "reftable")):
        return _unknown()
    if _is_commit(text):
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
            packed = _packed(place.common_dir, name)
            return packed, packed is None or _is_commit(packed)
        if _is_commit(text):
            return text, True
        if not text.startswith(SYMBOLIC):
            return None, False
        name = text[len(SYMBOLIC) :].strip()
    return None, False


def _packed(common_dir: str, name: str) -> str | None:
    try:
        with open(os.path.join(common_dir, "packed-refs"), "rb") as file:
            data = b"\n" + file.read()
    except OSError:
        return None
    end = data.find(b" " + os.fsencode(name) + b"\n")
    return data[data.rfind(b"\n", 0, end) + 1 : end].decode("ascii", "replace") if end > 0 else None


def _read(file: str) -> str | None:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            return opened.read().strip()
    except OSError:
        return None


def _is_commit(text: str) -> bool:
    return len(text) in (40, 64) and OBJECT_NAME.issuperset(text)
