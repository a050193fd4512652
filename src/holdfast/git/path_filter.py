"""Which changed paths go into a snapshot, which leave it, and which it cannot hold."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import TypedDict

from holdfast.git.errors import GitError
from holdfast.git.head import read_head

OTHER = "?"


class Skipped(TypedDict):
    """A file that a snapshot does not hold, and why."""

    path: str
    reason: str


class Candidates:
    """Paths that git named as changed, sorted into what to do with each."""

    def __init__(self, top: str, limit: int) -> None:
        self.updated: set[str] = set()
        self.removed: set[str] = set()
        self.skipped: list[Skipped] = []
        self.repositories: set[str] = set()
        self.given_up = 0
        self._top = top
        self._limit = limit
        # Path to whether the index has it already, as far as we know.
        self._named: dict[str, bool] = {}
        self._folders: dict[str, bool] = {"": True}

    def add_listing(self, output: bytes) -> None:
        """The answer of `git ls-files -z -t`: a tag, a space, a path."""
        for entry in os.fsdecode(output).split("\0"):
            if entry:
                # A repository inside this one is named as a folder, with a slash.
                path = entry[2:].rstrip("/")
                self._named[path] = self._named.get(path, False) or entry[0] != OTHER

    def add(self, paths: Iterable[str]) -> None:
        """Paths that the index should have whatever git said."""
        for path in paths:
            self._named[path] = True

    def remove(self, paths: Iterable[str]) -> None:
        """Paths that the index must not have any more."""
        for path in paths:
            self._named.pop(path, None)
            self.removed.add(path)

    def touches_ignore_rules(self) -> bool:
        """Whether a file changed that decides what is ignored."""
        return any(path.rpartition("/")[2] == ".gitignore" for path in self._named)

    def inner_repositories(self) -> set[str]:
        """Folders with a `.git` of their own in which git named single files."""
        folders: set[str] = set()
        for path in self._named:
            folder = os.path.dirname(path)
            while folder and folder not in folders:
                folders.add(folder)
                folder = os.path.dirname(folder)
        return {
            folder for folder in folders if os.path.lexists(os.path.join(self._top, folder, ".git"))
        }

    def sort_out(self) -> None:
        """Decide about every path, by what is on the disk now."""
        for path, indexed in self._named.items():
            reason = self._obstacle(path)
            if reason is None:
                self.updated.add(path)
                continue
            if indexed:
                self.removed.add(path)
            if reason:
                self.skipped.append({"path": path, "reason": reason})

    def for_git(self) -> list[str]:
        """The paths to hand to `git update-index`.

        A repository twice: where a file was before, git removes that at the first time only.
        """
        return sorted([*self.updated, *(self.repositories & self.updated)])

    def give_up(self, path: str, reason: str) -> None:
        """A path that git refused to take in."""
        self.given_up += 1
        self.leave(path, reason)

    def leave(self, path: str, reason: str) -> None:
        """A path that is not to be taken in, and whose older content is not to stand for it."""
        self.updated.discard(path)
        self.removed.add(path)
        self.skipped.append({"path": path, "reason": reason})

    def _obstacle(self, path: str) -> str | None:
        """None: git can take it in (or see that it is gone). Empty: it is not there as a file."""
        if not self._is_folder(os.path.dirname(path)):
            return ""
        whole = os.path.join(self._top, path)
        try:
            facts = os.lstat(whole)
        except OSError:
            return None
        if stat.S_ISLNK(facts.st_mode):
            return None
        if stat.S_ISDIR(facts.st_mode):
            return self._folder(path, whole)
        if not stat.S_ISREG(facts.st_mode):
            return "not a regular file"
        if facts.st_size > self._limit:
            return f"larger than {self._limit} bytes"
        return None if os.access(whole, os.R_OK) else "not readable"

    def _folder(self, path: str, whole: str) -> str | None:
        """A folder is named when it is a repository, or where a tracked file was before."""
        if not os.path.lexists(os.path.join(whole, ".git")):
            return None
        self.repositories.add(path)
        try:
            head = read_head(whole)
        except GitError as error:
            return error.message
        if head["known"] and not head["commit"]:
            return "a repository without a commit"
        return None

    def _is_folder(self, path: str) -> bool:
        """Whether a path is a real folder all the way: git refuses names beyond a symbolic link."""
        known = self._folders.get(path)
        if known is None:
            known = self._is_folder(os.path.dirname(path))
            whole = os.path.join(self._top, path)
            known = known and (not os.path.islink(whole)) and _may_hold(whole)
            self._folders[path] = known
        return known


def _may_hold(whole: str) -> bool:
    return os.path.isdir(whole) or not os.path.lexists(whole)
