"""The part of a purge in git: snapshots of the work tree that hold the text, and the objects that they leave."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from holdfast.git.repository import GitError, locate
from holdfast.git.run import git, run
from holdfast.git.shadow_index import LOCK, LOCK_SECONDS
from holdfast.git.unreachable import find_objects, list_objects, remove_objects
from holdfast.kernel.crash import reached
from holdfast.kernel.erased_text import list_bytes
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace

# Snapshots, and what features keep beside them.
PRIVATE_REFS = "refs/holdfast"


def find(workspace: Workspace, text: str) -> list[str]:
    """Return the refs of the snapshots that hold a text."""
    if not workspace.git_dir:
        return []
    try:
        top = locate(workspace.root).top
        refs = git(top, "for-each-ref", "--format=%(refname)", PRIVATE_REFS).decode().split()
    except GitError:
        return []
    return [ref for ref in refs if _commit_holds(top, ref, text)]


def _commit_holds(top: str, ref: str, text: str) -> bool:
    """Return whether a commit holds the text, in a file, in the name of one, or in what it says of itself. Git
    searches single lines, so it gets the longest line, and the files that it names are read. The text goes
    to standard input: other programs can see the command line."""
    wanted = list_bytes(text)
    named = git(top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", ref)
    said = run(top, "cat-file", "commit", ref).output  # nothing where it is a tree
    if any(form in named or form in said for form in wanted):
        return True
    for form in wanted:
        longest = max(form.splitlines(), key=len, default=b"")
        words = ["grep", "-z", "--files-with-matches", "--fixed-strings", "-f", "-", ref]
        for name in run(top, *words, input=longest).output.split(b"\0"):
            if name and form in git(top, "cat-file", "blob", os.fsdecode(name)):
                return True
    return False


def objects_of(workspace: Workspace, refs: Sequence[str]) -> list[str]:
    """Return the objects of git that these snapshots hold."""
    return sorted(list_objects(locate(workspace.root), refs)) if refs else []


def erase(
    workspace: Workspace, refs: Sequence[str], objects: Sequence[str], *, began: float
) -> None:
    """Remove these refs, and the objects that only they held and that are older than this purge."""
    for ref in refs:
        git(workspace.root, "update-ref", "-d", ref)
    reached("after snapshots are removed")
    if objects:
        _forget_indexes(workspace)
        with contextlib.suppress(GitError):
            remove_objects(locate(workspace.root), objects, before=began)


def _forget_indexes(workspace: Workspace) -> None:
    """Remove the indexes from which the next snapshots are made: they name objects that are about to go."""
    for name in sorted(os.listdir(workspace.home)):
        folder = os.path.join(workspace.home, name)
        if not name.startswith("index-") or not os.path.isdir(folder):
            continue
        with WorkspaceLock(folder, LOCK_SECONDS):
            for file in os.listdir(folder):
                if file != LOCK:
                    os.unlink(os.path.join(folder, file))


def find_left(
    workspace: Workspace, objects: Sequence[str], wanted: list[bytes]
) -> list[tuple[str, str]]:
    """Return the objects of git that hold the text and that nothing reaches any more, and why they are left."""
    if not workspace.git_dir:
        return []
    try:
        found = find_objects(locate(workspace.root), objects, wanted)
    except GitError:
        return []
    why = {
        True: "a packed object of a removed snapshot; git removes it two weeks after it packs again",
        False: "an object of git that no commit or snapshot reaches; git removes it after two weeks",
    }
    return [(f"git object {quote(name)}", why[name in objects]) for name in found]
