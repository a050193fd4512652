"""An index of our own: it follows the work tree from snapshot to snapshot, the user's never moves.

It begins as a copy of the user's index, so that nothing is hashed twice. In `<git common dir>/
holdfast/index-<worktree>/` are the index, under a name of its own each time it is made anew (a git
that outlived its killed parent may still write to the old one), what we know of it, and the lock.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from holdfast.git.repository import GitError, Place, is_object_name
from holdfast.git.run import Running, git, run
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import from_os_error
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.plain_file import open_plain, read_plain, remove_links, write_aside
from holdfast.kernel.text import split_words

SCHEMA = 1
# The first snapshot hashes the whole tree.
SECONDS = 600.0
LOCK_SECONDS = 60.0
# Reflogs are the user's. All that is known of a file's times counts, whatever the user's git looks at.
SETTINGS = split_words(
    "-c core.fsync=committed,reference -c core.logAllRefUpdates=false "
    "-c core.splitIndex=false -c core.safecrlf=false -c i18n.commitEncoding=UTF-8 "
    "-c core.checkStat=default -c core.trustctime=true"
)
GITLINK = "160000"
KNOWN = "facts.json"
INDEX = "index."
LOCK = "lock"
WRITE_COMMIT = ("hash-object", "-t", "commit", "-w", "--stdin")
WRITE_REF = ("update-ref", "--no-deref", "--stdin", "-z")
FORGET = ("update-index", "--force-remove", "-z", "--stdin")


class Facts(TypedDict):
    """What we remember of the index between two runs."""

    schema: int
    index: str
    seen: list[Any]
    """Identities of the user's index and of the files that decide what is ignored."""
    forced: list[str]
    """Tracked by the user although ignored; `--others` would never name them."""
    gone: list[str]
    """The forced ones that this index has not got."""
    unmerged: list[str]
    """What was in conflict in the user's index when this one began."""
    inner: list[str]
    """Repositories inside this one whose files the user tracks one by one."""
    sparse: bool
    gitlinks: bool
    newest: Any
    """The last snapshot, as it was returned."""
    tree: list[Any]
    """The identity of the index when it was last written as a tree, and that tree."""


class Shadow:
    """The shadow index of one worktree, held: `with Shadow(place) as shadow`. `is_exact`: it follows the disk alone,
    also where the user's git looks away: modes that it does not compare, and files that a sparse checkout leaves out.
    """

    def __init__(
        self,
        place: Place,
        folder: str = "",
        environment: Mapping[str, str] | None = None,
        *,
        is_exact: bool = False,
    ) -> None:
        self.place = place
        self.folder = folder or os.path.join(place.common_dir, "holdfast", f"index-{place.key}")
        self._environment = environment or {}
        self._is_exact = is_exact
        # A tree that a ref keeps.
        self.kept = ""
        # The user's git may believe otherwise about names that differ only in case.
        is_same = os.path.exists(os.path.join(place.git_dir, "head"))
        self._settings = [*SETTINGS, "-c", f"core.ignorecase={str(is_same).lower()}"]
        if is_exact:
            self._settings += ["-c", "core.fileMode=true"]
        self.facts = _empty()
        self._lock = WorkspaceLock(self.folder, LOCK_SECONDS)

    def __enter__(self) -> Shadow:
        # An archive of a repository can bring this folder, too.
        remove_links(self.folder)
        try:
            self._lock.__enter__()
        except OSError as error:
            raise from_os_error(error, "taking a snapshot") from error
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._remember()
        finally:
            self._lock.__exit__()

    @property
    def index(self) -> str:
        """Where the index is."""
        return os.path.join(self.folder, self.facts["index"])

    @property
    def theirs(self) -> str:
        """Where the user's index is."""
        return os.path.join(self.place.git_dir, "index")

    def git(self, *arguments: str, input: bytes | None = None, index: str = "") -> bytes:
        """Return what git says of this index, or of another."""
        words = (*self._settings, *arguments)
        environment = self.surroundings(index)
        return git(self.place.top, *words, input=input, environment=environment, seconds=SECONDS)

    def start(self, *arguments: str) -> Running:
        """Start git with this index while the caller does something else."""
        return Running(
            self.place.top, (*self._settings, *arguments), self.surroundings(), fed=False
        )

    def surroundings(self, index: str = "") -> dict[str, str]:
        """Return the variables by which git works with this index, or with another."""
        own = {"GIT_INDEX_FILE": index or self.index, "GIT_LITERAL_PATHSPECS": "1"}
        return {**self._environment, **own}

    def has_file(self, path: str) -> bool:
        """Whether there is something in the work tree under this name."""
        return os.path.lexists(os.path.join(self.place.top, path))

    def write_tree(self) -> str:
        """Return the index as a tree. One that is as it was at the last time costs no git, where that tree is there."""
        known = self.facts["tree"]
        is_same = known[:1] == [_identity(self.index)] and is_object_name(known[-1])
        if is_same and (known[-1] == self.kept or self._has_object(known[-1])):
            return str(known[-1])
        tree = self.git("write-tree").decode("ascii").strip()
        self.facts["tree"] = [_identity(self.index), tree]
        return tree

    def _has_object(self, name: str) -> bool:
        loose = os.path.join(self.place.common_dir, "objects", name[:2], name[2:])
        if os.path.exists(loose):
            return True
        done = run(self.place.top, "cat-file", "-e", name, environment=self.surroundings())
        return done.code == 0

    def copy(self, name: str) -> str:
        """A scratch copy of the index, for building another tree from it."""
        path = os.path.join(self.folder, name)
        _copy(self.index, path)
        return path

    def load(self) -> bool:
        """Whether there is an index to go on with."""
        try:
            facts = json.loads(read_plain(os.path.join(self.folder, KNOWN)))
        except (OSError, ValueError):
            return False
        if not isinstance(facts, dict) or facts.keys() != _empty().keys():
            return False
        name = str(facts["index"])
        if facts["schema"] != SCHEMA or not name.startswith(INDEX) or os.sep in name:
            return False
        self.facts = facts  # type: ignore[assignment]
        # We hold the lock, so the process that left git's own is dead, or an orphan that must not be met.
        usable = os.path.exists(self.index) and not os.path.exists(f"{self.index}.lock")
        moved = facts["sparse"] and facts["seen"] != self.look()
        return usable and not moved

    def seed(self) -> None:
        """Begin anew from the user's index; from nothing when that is broken or not there."""
        for name in os.listdir(self.folder):
            if name != LOCK:
                _remove(os.path.join(self.folder, name))
        self.facts = _empty()
        if os.path.exists(self.theirs):
            _copy(self.theirs, self.index)
            try:
                self._adopt()
            except GitError:
                _remove(self.index)
        if not os.path.exists(self.index):
            self.git("read-tree", "--empty")

    def look(self) -> list[Any]:
        """The identities of what decides which files belong to a snapshot."""
        home = os.path.expanduser("~")
        settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return [
            _identity(path)
            for path in (
                self.theirs,
                os.path.join(self.place.common_dir, "info", "exclude"),
                os.path.join(self.place.common_dir, "config"),
                os.path.join(home, ".gitconfig"),
                os.path.join(settings, "git", "config"),
                os.path.join(settings, "git", "ignore"),
            )
        ]

    def _remember(self) -> None:
        """Keep what is known. Not synced: when it is lost, the index is made anew."""
        write_aside(os.path.join(self.folder, KNOWN), json.dumps(self.facts).encode("ascii"))

    def _adopt(self) -> None:
        """Lift the flags by which the user's index looks away from changes."""
        assumed: list[str] = []
        present: list[str] = []
        absent: list[str] = []
        for entry in os.fsdecode(self.git("ls-files", "-z", "-v", "--stage")).split("\0"):
            facts, _, path = entry.partition("\t")
            if not path:
                continue
            tag, mode, _, stage = facts.split(" ")
            if tag.islower():
                assumed.append(path)
            if tag.upper() == "S":
                self.facts["sparse"] = True
                (present if self.has_file(path) else absent).append(path)
            if mode == GITLINK:
                self.facts["gitlinks"] = True
            if stage != "0":
                self.facts["unmerged"].append(path)
        for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", present)):
            if paths:
                self.git("update-index", option, "-z", "--stdin", input=join_names(paths))
        if absent and self._is_exact:
            self.git(*FORGET, input=join_names(absent))


def join_names(paths: Iterable[str]) -> bytes:
    """Names for `-z --stdin`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _empty() -> Facts:
    return {
        "schema": SCHEMA,
        "index": f"{INDEX}{new_id()[:8]}",
        "seen": [],
        "forced": [],
        "gone": [],
        "unmerged": [],
        "inner": [],
        "sparse": False,
        "gitlinks": False,
        "newest": None,
        "tree": [],
    }


def _identity(path: str) -> list[int]:
    try:
        facts = os.stat(path)
    except OSError:
        return []
    return [facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_size]


def _remove(path: str) -> None:
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)  # files of a restore or an undo that was killed
        else:
            os.unlink(path)
    except FileNotFoundError:
        # An orphan removed its own lock between our look and this.
        pass


def _copy(source: str, target: str) -> None:
    """The same bytes with the same time of change: git compares it with those of the files.

    A newer time would make it trust an entry whose file changed in the instant after it was added.
    """
    with os.fdopen(open_plain(source, follow=True), "rb") as file:
        facts = os.fstat(file.fileno())
        data = file.read()
    with open(target, "wb") as file:
        file.write(data)
    os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def write_commit(place: Place, commit: bytes, ref: str) -> str:
    """Write a commit under a new ref. Return its name; it is durable then."""
    made = git(place.top, *SETTINGS, *WRITE_COMMIT, input=commit)
    name = made.decode("ascii").strip()
    git(place.top, *SETTINGS, *WRITE_REF, input=f"create {ref}\0{name}\0".encode())
    return name
