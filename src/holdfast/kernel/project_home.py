"""The home of a project without git: a folder in the user's state folder, found by the project's folder.

A journal in the tree of a project can come with an archive. So a new one is in the user's own folder, where no
archive reaches. Its home says which folder it belongs to, by path, inode and mark: a folder that was renamed is found
again. A journal that an older version made in the tree is taken over: by itself where the user's folder knows its
number, otherwise after `holdfast trust`.
"""

from __future__ import annotations

import os

from holdfast.kernel.digest import id_of
from holdfast.kernel.plain_file import list_names, read_plain, write_synced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

FOLDER = "projects"
PLACE = "place"
MAX_PLACE = 65536
# What makes a folder without git a workspace, by name.
MARKS = ("holdfast.toml", "pyproject.toml", ".holdfast")
# What stood beside the journal in the tree and is not made again from its records.
_FILES = ("latch", "machine", "moved.json")
_FOLDERS = ("clients", "quarantine")


def find(root: str, user_folder: str) -> str:
    """Return the home of the project in a folder; it may not be there yet."""
    homes = os.path.join(user_folder, FOLDER)
    usual = os.path.join(homes, id_of(root)[:32])
    known = _read_place(usual)
    if known is None or known[0] == root:
        moved = "" if known else _find_moved(root, homes)
        return moved or usual
    # The project that was here was moved: this is another one.
    return _find_moved(root, homes) or f"{usual}-{id_of(_identity_of(root))[:8]}"


def _find_moved(root: str, homes: str) -> str:
    """Return the home of a project whose folder was renamed to this one; empty if there is none."""
    identity = _identity_of(root)
    for name in list_names(homes) if identity else []:
        home = os.path.join(homes, name)
        known = _read_place(home)
        if known is None or known[1] != identity:
            continue
        if known[0] == root or _identity_of(known[0]) != identity:
            return home
    return ""


def note_place(home: str, root: str) -> None:
    """Keep which folder a home belongs to."""
    if _read_place(home) != (root, _identity_of(root)):
        content = f"{_identity_of(root)}\n{root}\n".encode("utf-8", "surrogateescape")
        write_synced(os.path.join(home, PLACE), content)


def _read_place(home: str) -> tuple[str, str] | None:
    try:
        content = read_plain(os.path.join(home, PLACE), MAX_PLACE, follow=False)
        identity, root = os.fsdecode(content).removesuffix("\n").split("\n", 1)
        return root, identity
    except (OSError, ValueError):
        return None


def _identity_of(folder: str) -> str:
    """Return what tells a project's folder from all others, also from one that has its inode after it was removed:
    both inodes, and the time, of the folder and of the file that marks it. Empty where there is none."""
    try:
        found = f"{os.stat(folder).st_ino}"
        for name in MARKS:
            path = os.path.join(folder, name)
            if os.path.lexists(path):
                status = os.lstat(path)
                return f"{found}:{status.st_ino}:{status.st_mtime_ns}"
    except OSError:
        pass
    return ""


def tree_journal(workspace: Workspace) -> str:
    """Return the journal that an older version, or an archive, left in the tree of a project without git, and
    that was not taken over; empty if there is none."""
    path = os.path.join(workspace.tool_folder, "journal.db")
    is_there = not workspace.git_dir and not os.path.islink(path) and os.path.isfile(path)
    if (
        not is_there
        or os.path.islink(workspace.tool_folder)
        or os.path.exists(workspace.journal_path)
    ):
        return ""
    return path


def take_over(workspace: Workspace) -> None:
    """Copy the journal in the tree to the project's home, with what stands beside it; keep the old file under
    another name."""
    from holdfast.journal.migrate import LOGS
    from holdfast.journal.sqlite import SqliteJournal
    from holdfast.journal.upkeep import backup
    from holdfast.kernel.rename import place_new

    source = tree_journal(workspace)
    if not source:
        return
    os.makedirs(workspace.home, 0o700, exist_ok=True)
    note_place(workspace.home, workspace.root)
    _copy_beside(workspace.tool_folder, workspace.home)
    unfinished = f"{workspace.journal_path}.{os.getpid()}"
    journal = SqliteJournal(source, read_only=True)
    try:
        backup(journal, unfinished)
    finally:
        journal.close()
    try:
        place_new(unfinished, workspace.journal_path)
    except FileExistsError:
        os.unlink(unfinished)  # another process was faster
        return
    os.rename(source, f"{source}.taken-over")
    for log in LOGS:
        if os.path.lexists(f"{source}{log}"):
            os.unlink(f"{source}{log}")


def _copy_beside(tools: str, home: str) -> None:
    """Copy what stands beside a journal; regular files alone."""
    names = [*_FILES]
    for folder in _FOLDERS:
        place = os.path.join(tools, folder)
        if os.path.isdir(place) and not os.path.islink(place):
            os.makedirs(os.path.join(home, folder), 0o700, exist_ok=True)
            names += [f"{folder}/{name}" for name in sorted(os.listdir(place))]
    for name in names:
        target = os.path.join(home, name)
        try:
            if not os.path.exists(target):
                write_synced(target, read_plain(os.path.join(tools, name), follow=False))
        except OSError:
            continue
