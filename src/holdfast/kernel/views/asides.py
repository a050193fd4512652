"""The other files of a view: new content on its way into place, what it displaced, and edits that wait.

New content is staged beside its target: only there is a rename one step, whatever is mounted where. What it
displaced goes to the journal's home, so that no second file stays beside the view; where that is another file
system, it stays. Names beside a view are in the hands of everyone who can write there, so only a regular file of
this user that git does not track is taken for ours. `doctor` names all others.
"""

from __future__ import annotations

import os
import stat
import time

from holdfast.kernel.digest import digest, new_id
from holdfast.kernel.plain_file import list_names
from holdfast.kernel.tree_file import UNFINISHED, TreeFile, is_git_name, place_new
from holdfast.kernel.views.files import file_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.kernel.workspace import Workspace

# In the journal's home: for each view a folder of what it displaced.
DISPLACED = "displaced"
# In `.holdfast/`: where earlier versions staged views. What they left there is taken over.
OLD_FOLDER = "views"
EDITED = "edited"
SEEN = "seen"
MARK = ".holdfast."
# What a process staged and did not commit for so long was left by a crash. Others wait for the lock meanwhile.
STALE_SECONDS = 600
# A name has 255 bytes at most, and ours are longer than the view's.
LONGEST_NAME = 180


class Survey:
    """The ends of the names that stood beside a view, and the names in its folder of the journal's home."""

    def __init__(self, beside: frozenset[str], home: frozenset[str]) -> None:
        self.beside = beside
        self.home = home


class Asides:
    """The other files of one view."""

    def __init__(self, workspace: Workspace, path: str) -> None:
        self.path = path
        self.target = file_at(workspace, path)
        name = self.target.name
        if len(os.fsencode(name)) > LONGEST_NAME:
            name = digest(os.fsencode(name)).hex()[:16]
        self._stem = f".{name}{MARK}"
        self._workspace = workspace
        self._home: TreeFile | None = None

    @property
    def home(self) -> TreeFile:
        """The folder outside of the work tree for what this view displaced."""
        if self._home is None:
            name = digest(os.fsencode(f"{self.target.root}\0{self.path}")).hex()[:16]
            self._home = TreeFile(self._workspace.home, f"{DISPLACED}/{name}")
        return self._home

    def staged(self, placed: str) -> TreeFile:
        """Return where the content with this identity waits before the exchange.

        The name follows from the identity, so that what a process staged and never committed cannot be
        taken for a displaced file.
        """
        return self.target.beside(self._stem + _time_of(placed))

    def survey(self) -> Survey:
        """Look once at the names beside the view, and at those in the journal's home."""
        folder = self.target.path.rpartition("/")[0]
        names = names_in(self.target.root, folder)
        length = len(self._stem)
        beside = frozenset(name[length:] for name in names if name.startswith(self._stem))
        return Survey(beside, frozenset(self.home.names_if_any()))

    def displaced(self, placed: str) -> TreeFile | None:
        """Return the file that the content with this identity displaced; None where there is none."""
        seen, name = self.survey(), _time_of(placed)
        if name in seen.beside:
            return self.staged(placed)
        return self.home.below(name) if name in seen.home else None

    def stow(self, file: TreeFile, name: str) -> TreeFile:
        """Move a file from beside the view into the journal's home; where it is now."""
        to = self.home.below(name)
        try:
            place_new(file, to, folder_mode=0o700)
        except OSError:
            return file
        return to

    def keep(self, file: TreeFile, base: int) -> TreeFile:
        """Keep a displaced file as an edit of the version that it showed."""
        name = f"{base}.{new_id()[:8]}.{EDITED}"
        kept = self.stow(file, name)
        if kept is file:
            kept = self.target.beside(self._stem + name)
            place_new(file, kept)
        return kept

    def edits(self) -> list[tuple[TreeFile, int]]:
        """Return the edits that wait to become records: file, and version they were made on."""
        seen = self.survey()
        found = []
        for name in seen.beside:
            base, file = _base_of(name), self.target.beside(self._stem + name)
            if base is not None and is_ours(file):
                found.append((file, base))
        for name in seen.home:
            base = _base_of(name)
            if base is not None and self.home.below(name).is_file():
                found.append((self.home.below(name), base))
        return sorted(found, key=lambda each: each[0].name)

    def left(self) -> list[TreeFile]:
        """Return every file of ours beside the target: staged, displaced, or an edit."""
        found = [self.target.beside(self._stem + name) for name in sorted(self.survey().beside)]
        return [file for file in found if is_ours(file)]

    def remove_stale(self, placed: str, seen: Survey) -> None:
        """Remove what a crash left staged, except the content with the identity `placed`."""
        before = time.time() - STALE_SECONDS
        kept = _time_of(placed) if placed else ""
        for name in seen.beside:
            if not name.isdigit() or name == kept:
                continue
            file = self.target.beside(self._stem + name)
            status = file.status()
            if status is not None and status.st_mtime < before and is_ours(file):
                file.remove_if_any()

    def take_over(self) -> None:
        """Bring here what an earlier version left in `.holdfast/views`."""
        names = names_in(self.target.root, f"{_tool_folder()}/{OLD_FOLDER}")
        if not names:
            return
        folder = TreeFile(self.target.root, f"{_tool_folder()}/{OLD_FOLDER}")
        stem = f"{digest(self.path.encode()).hex()[:16]}."
        for name in names:
            end = name.removeprefix(stem)
            if end == name or not is_ours(folder.below(name)):
                continue
            try:
                if end.isdigit():
                    place_new(folder.below(name), self.target.beside(self._stem + end))
                elif _base_of(end.removesuffix(f".{SEEN}")) is not None:
                    place_new(folder.below(name), self.home.below(end), folder_mode=0o700)
            except OSError:
                continue
        folder.remove_folder()


def list_asides(workspace: Workspace, root: str) -> Iterator[TreeFile]:
    """Everything that stands under a name of this kind, whoever put it there: beside the views of a worktree, in
    the journal's home, and where earlier versions had such files."""
    rows = workspace.journal.views(worktree=root)
    for folder in sorted({row["path"].rpartition("/")[0] for row in rows}):
        for name in names_in(root, folder):
            is_unfinished = name.startswith(UNFINISHED) and name.endswith(".unfinished")
            if (name.startswith(".") and MARK in name) or is_unfinished:
                yield TreeFile(root, f"{folder}/{name}" if folder else name)
    for top in (TreeFile(root, f"{_tool_folder()}/{OLD_FOLDER}"), *_homes(workspace)):
        names = top.names_if_any()
        yield from (top.below(name) for name in names if not is_git_name(name))
        if not names and _is_strange_folder(top):
            yield top


def list_strange_asides(workspace: Workspace, root: str) -> Iterator[tuple[TreeFile, str]]:
    """What stands under such a name and is not taken for ours, and why."""
    for file in list_asides(workspace, root):
        if not file.is_file():
            yield file, "it has the place of a file of Holdfast, and is no regular file"
        elif file.root != workspace.home and not is_ours(file):
            yield (
                file,
                "it has the name of a file of Holdfast, and came with the repository or from another user",
            )
        elif not _is_aside_name(file.name):
            yield file, "it is among the files of Holdfast, and none of them"


def _is_strange_folder(folder: TreeFile) -> bool:
    """Whether something stands there that is no folder."""
    try:
        status = folder.status()
    except OSError:
        return False
    return status is not None and not stat.S_ISDIR(status.st_mode)


def _homes(workspace: Workspace) -> list[TreeFile]:
    top = TreeFile(workspace.home, DISPLACED)
    return [top.below(name) for name in top.names_if_any() if not is_git_name(name)]


def remove_empty_folders(workspace: Workspace) -> None:
    """Remove the folders of views that displaced nothing, and that of earlier versions."""
    for folder in (
        TreeFile(workspace.root, f"{_tool_folder()}/{OLD_FOLDER}"),
        *_homes(workspace),
    ):
        folder.remove_folder()


def _tool_folder() -> str:
    from holdfast.kernel.workspace import TOOL_FOLDER

    return TOOL_FOLDER


def names_in(root: str, folder: str) -> list[str]:
    """Return the names in a folder of a work tree; none where there is no such folder."""
    if folder:
        return TreeFile(root, folder).names_if_any()
    return list_names(root)


def is_ours(file: TreeFile) -> bool:
    """Return whether it is a regular file of this user that did not come with the repository."""
    try:
        status = file.status()
    except OSError:
        return False
    if status is None or not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return False
    from holdfast.kernel.git_index import is_tracked

    return not is_tracked(file.root, file.path)


def _is_aside_name(name: str) -> bool:
    """Whether the name of a file aside is one that a version of Holdfast gives."""
    if name.endswith(".unfinished"):
        return True
    for end in (name.partition(MARK)[2], name, name.partition(".")[2]):
        if end.isdigit() or _base_of(end.removesuffix(f".{SEEN}")) is not None:
            return True
    return False


def _time_of(placed: str) -> str:
    return placed.split(":")[2]


def _base_of(name: str) -> int | None:
    """The version that an edit was made on, from the end of its file's name; None for another name."""
    base, _, rest = name.partition(".")
    id, _, ending = rest.partition(".")
    is_number = base.isascii() and base.removeprefix("-").isdigit() and len(base) < 20
    return int(base) if is_number and len(id) == 8 and ending == EDITED else None
