"""The work tree as a tree object, by way of the shadow index: which changed paths go into it, and which
it cannot hold. Only changes are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict

from holdfast.git.repository import GitError, read_head
from holdfast.git.run import repository_filters
from holdfast.git.shadow_index import FORGET, GITLINK, Shadow, join_names
from holdfast.kernel.errors import from_os_error

OTHER = "?"
LIMIT = 50_000_000
CHANGED = ("ls-files", "-z", "-t", "-m", "-o", "--exclude-standard")
IGNORED = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
UPDATE = ("-z", "--add", "--remove", "--replace", "--stdin")
# When more files than this cannot be taken in, it is the disk and not the files.
GIVE_UP_AFTER = 20


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
            is_gone = not os.path.lexists(whole)
            known = known and not os.path.islink(whole) and (os.path.isdir(whole) or is_gone)
            self._folders[path] = known
        return known


class TreeCapture(TypedDict):
    """The work tree as a tree object."""

    tree: str
    changed: int
    skipped: list[Skipped]
    submodules: list[str]
    """Repositories inside, of which a tree holds the commit, and no change that is not committed."""


def capture(
    shadow: Shadow, limit: int = LIMIT, changed: Callable[[], bytes] | None = None
) -> TreeCapture:
    """Bring the index up to the work tree, and write it as a tree. An index that git cannot use is made
    again. `changed` names what may have changed, as `git ls-files -z -t` does, also what was only touched."""
    try:
        try:
            if not shadow.load():
                shadow.seed()
            return _capture(shadow, limit, changed)
        except GitError as error:
            if error.kind != "git_failed":
                raise
            shadow.seed()
            return _capture(shadow, limit, changed)
    except OSError as error:
        raise from_os_error(error, "taking a snapshot") from error


def _capture(shadow: Shadow, limit: int, changed: Callable[[], bytes] | None) -> TreeCapture:
    seen = shadow.look()
    moved = seen != shadow.facts["seen"]
    candidates = Candidates(shadow.place.top, limit)
    candidates.add_listing(changed() if changed else shadow.git(*CHANGED))
    _expect_no_new_repository(shadow, candidates)
    candidates.add(shadow.facts["unmerged"])
    candidates.add(path for path in shadow.facts["gone"] if shadow.has_file(path))
    rules = seen[1:] != shadow.facts["seen"][1:] or candidates.touches_ignore_rules()
    if moved or rules:
        _follow_ignored(shadow, candidates, rules=rules)
    candidates.sort_out()
    _leave_filtered(shadow, candidates)
    paths = candidates.for_git()
    # Where the user's git was at work, what it touched without changing is learned again.
    is_touched = moved and not changed
    if paths or is_touched:
        options = ("-q", "--unmerged", "--refresh", *UPDATE) if is_touched else UPDATE
        _take_in(shadow, candidates, paths, options)
    if candidates.removed:
        shadow.git(*FORGET, input=join_names(candidates.removed))
    tree = shadow.write_tree()
    gitlinks = shadow.facts["gitlinks"] or bool(candidates.repositories)
    # The forced paths that the index has not got, to be looked for next time.
    skipped, forced = {left["path"] for left in candidates.skipped}, shadow.facts["forced"]
    gone = [path for path in forced if path in skipped or not shadow.has_file(path)]
    shadow.facts.update({"seen": seen, "gone": gone, "gitlinks": gitlinks, "unmerged": []})
    return {
        "tree": tree,
        "changed": len(candidates.updated) + len(candidates.removed),
        "skipped": sorted(candidates.skipped, key=lambda skipped: skipped["path"]),
        "submodules": _submodules(shadow) if gitlinks else [],
    }


def _expect_no_new_repository(shadow: Shadow, candidates: Candidates) -> None:
    """A folder that we followed may have become a submodule: only the user's index can tell.

    An index that was just made from it is right, whatever it says.
    """
    found = candidates.inner_repositories() - set(shadow.facts["inner"])
    if found and shadow.facts["seen"]:
        raise GitError(f"A folder became a repository: {', '.join(sorted(found))}.")
    shadow.facts["inner"] += sorted(found)


def _follow_ignored(shadow: Shadow, candidates: Candidates, *, rules: bool) -> None:
    """Keep what the user tracks although it is ignored, and nothing else that is ignored."""
    before = set(shadow.facts["forced"])
    forced = set()
    if os.path.exists(shadow.theirs):
        try:
            forced = _names(shadow.git(*IGNORED, index=shadow.theirs))
        except GitError:
            # A broken index of the user's is no reason to have no snapshot.
            forced = before
    candidates.add(forced - before)
    shadow.facts["forced"] = sorted(forced)
    if rules or before - forced:
        candidates.remove(_names(shadow.git(*IGNORED)) - forced)


def _leave_filtered(shadow: Shadow, candidates: Candidates) -> None:
    """Leave out files whose filter the repository itself names.

    The filter is a program of the repository, which does not run here; without it a snapshot would
    hold in plain what the filter encrypts.
    """
    filters = repository_filters(shadow.place.top)
    if not filters or not candidates.updated:
        return
    asked = join_names(sorted(candidates.updated))
    fields = os.fsdecode(shadow.git("check-attr", "-z", "--stdin", "filter", input=asked))
    words = iter(fields.split("\0"))
    for path, _, name in zip(words, words, words, strict=False):
        if name in filters and path in candidates.updated:
            candidates.leave(path, f"its filter {name} is named by this repository's .git/config")


def _take_in(
    shadow: Shadow, candidates: Candidates, paths: list[str], options: Sequence[str] = UPDATE
) -> None:
    """Hand files to git. One that it cannot read (a filter fails) must not cost all the others.

    Git writes the index only at its end, so halves can be tried one after the other.
    """
    try:
        shadow.git("update-index", *options, input=join_names(paths))
    except GitError as error:
        is_disk = candidates.given_up > GIVE_UP_AFTER or os.path.lexists(f"{shadow.index}.lock")
        if error.kind != "git_failed" or not paths or is_disk:
            raise
        if len(paths) == 1:
            candidates.give_up(paths[0], error.message)
            return
        middle = len(paths) // 2
        for half in (paths[:middle], paths[middle:]):
            _take_in(shadow, candidates, half)


def _submodules(shadow: Shadow) -> list[str]:
    """The repositories inside this one that a tree holds as a commit only.

    Whether one has changes of its own is not asked: git would have to start in it.
    """
    entries = os.fsdecode(shadow.git("ls-files", "-z", "--stage")).split("\0")
    paths = [
        path for facts, _, path in (one.partition("\t") for one in entries) if facts[:6] == GITLINK
    ]
    top = shadow.place.top
    return sorted(path for path in paths if os.path.lexists(os.path.join(top, path, ".git")))


def _names(output: bytes) -> set[str]:
    return {name for name in os.fsdecode(output).split("\0") if name}
