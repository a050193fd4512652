"""The private folder of a worktree: what hooks write, empty and delete, outside of the work tree.

A work tree comes from others. A link in it once led the hooks to a person's own files, which they emptied and
deleted. So nothing that a hook changes is found through the tree. The folder is in the worktree's own git dir,
which no clone brings and which goes with `git worktree remove`. For a project without git, or one whose git dir
belongs to another user, it is in the user's own folder.

An archive can bring a git dir, and links in it. So a private folder holds the number of its own inode, which the
author of an archive cannot know. A folder without it (also one that was copied) is made again, and what it
holds is taken over as if it came from a stranger. The same happens to what versions up to 0.2 left in the
work tree.
"""

from __future__ import annotations

import os
import stat

from holdfast.kernel.digest import id_of
from holdfast.kernel.plain_file import read_plain, remove_links, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from holdfast.kernel.workspace import Workspace

FOLDER = "worktree"
# For the worktrees without a git dir of this user's own.
FOLDERS = "worktrees"
# The folders whose files are taken over. A session's slot is a folder of its own.
TAKEN_OVER = ("lives", "limits", "pending", "slots", "waiting")
# What versions up to 0.2 kept in `.holdfast/` of a work tree, besides these. Remove with version 0.5.
_OLD_FOLDERS = (*TAKEN_OVER, "last-turn", "seen", "shared", "told")
_OLD_FILES = ("after-turn.lock", "hook-failures.jsonl", "hook-failures.jsonl.lost")
# Not of a slot: it names a path, and the client's own record of the session names it again.
NOT_TAKEN_OVER = "transcript"
MAX_TAKEN_OVER = 1_000
MAX_BYTES_TAKEN_OVER = 1 << 20
_MADE = "made"
_MAX_MARK = 100
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def locate(root: str, own_git_dir: str, user_folder: str) -> str:
    """Return the path of a worktree's private folder. One that is there and was not made here is made again."""
    if own_git_dir and _is_sound(own_git_dir, f"{own_git_dir}/holdfast"):
        is_top = root == os.path.dirname(own_git_dir) or os.path.isfile(f"{root}/.git")
        name = FOLDER if is_top else f"{FOLDER}-{id_of(root)[:16]}"
        path = f"{own_git_dir}/holdfast/{name}"
    else:
        path = f"{user_folder}/{FOLDERS}/{id_of(root)[:32]}"
    try:
        status = os.lstat(path)
    except OSError:
        return path
    if not _has_mark(path, status):
        _make_again(path, status)
    remove_links(path)
    return path


def _is_sound(git_dir: str, folder: str) -> bool:
    """Return whether a private folder can be in a git dir: it is this user's, and `holdfast` in it is no link."""
    try:
        if os.stat(git_dir).st_uid != os.geteuid():
            return False
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def prepare(path: str, name: str = "") -> str:
    """Return the private folder, or a folder in it, and make what is missing."""
    if not os.path.isdir(path):
        _make(path)
    if not name:
        return path
    folder = f"{path}/{name}"
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    return folder


def _make(path: str) -> None:
    """Make the folder with its mark, in one step."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    unfinished = f"{path}.{os.getpid()}"
    os.mkdir(unfinished, 0o700)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(f"{unfinished}/{_MADE}", flags, 0o600)
        try:
            write_all(descriptor, _mark_of(os.lstat(unfinished)))
        finally:
            os.close(descriptor)
        os.rename(unfinished, path)
    except OSError:
        remove(unfinished)
        # Another process may have made it meanwhile: a folder with a file in it is not replaced.
        if not os.path.isdir(path):
            raise


def _mark_of(status: os.stat_result) -> bytes:
    return f"{status.st_ino}\n".encode()


def _has_mark(path: str, status: os.stat_result) -> bool:
    mode = status.st_mode
    if not stat.S_ISDIR(mode) or status.st_uid != os.geteuid() or mode & 0o022:
        return False
    try:
        content = read_plain(f"{path}/{_MADE}", _MAX_MARK, follow=False)
    except OSError:
        return False
    return content == _mark_of(status)


def _make_again(path: str, status: os.stat_result) -> None:
    """Replace a folder that was not made here by one that was, with what can be taken over of it."""
    aside = f"{path}.{os.getpid()}.aside"
    try:
        os.rename(path, aside)
        _make(path)
    except OSError:
        return  # where nothing can be written, nothing is
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
        take_over(aside, path)
    remove(aside)


def take_over(source: str, path: str, foreign: Container[str] = ()) -> None:
    """Copy what sessions and agents left in a folder that others could write into the private folder: regular
    files of this user, which are not among the `foreign` ones, and which are not there yet."""
    left = MAX_TAKEN_OVER
    for name in TAKEN_OVER:
        try:
            folder = _open_folder(source, name)
        except OSError:
            continue
        try:
            for below in os.listdir(folder)[:left]:
                if f"{name}/{below}" in foreign:
                    continue
                left -= 1
                _take_over_one(folder, below, prepare(path, name))
        except OSError:
            return
        finally:
            os.close(folder)


def take_over_old(workspace: Workspace) -> None:
    """Move what an older version kept in the work tree into the private folder. What came with the repository
    stays where it is, and does not count."""
    source = workspace.tool_folder
    try:
        names = {*os.listdir(source)} & {*_OLD_FOLDERS, *_OLD_FILES}
        if not names or os.path.islink(source):
            return
        from holdfast.kernel.git_index import tracked_below

        tracked = tracked_below(workspace.root, os.path.basename(source))
        foreign = {"/".join(path.split("/")[1:3]) for path in tracked}
        take_over(source, workspace.prepare_private(), foreign)
        folder = os.open(source, _FOLDER_FLAGS)
    except OSError:
        return  # a sandbox, in which nothing is taken over
    try:
        for name in names - {path.partition("/")[0] for path in foreign}:
            _remove_in(folder, name)
    finally:
        os.close(folder)


def _remove_in(parent: int, name: str) -> None:
    """Remove a regular file, or a folder of ours with what is in it, through a descriptor; no link is followed."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            os.unlink(name, dir_fd=parent)
        elif stat.S_ISDIR(status.st_mode):
            folder = os.open(name, _FOLDER_FLAGS, dir_fd=parent)
            try:
                for below in os.listdir(folder):
                    _remove_in(folder, below)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=parent)
    except OSError:
        return


def _open_folder(source: str, name: str) -> int:
    """Open a folder in a folder, and follow no link."""
    parent = os.open(source, _FOLDER_FLAGS)
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    finally:
        os.close(parent)


def _take_over_one(folder: int, name: str, into: str) -> None:
    """Copy a file, or a session's slot with its files."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if status.st_uid != os.geteuid() or name.startswith("."):
        return
    if stat.S_ISDIR(status.st_mode) and os.path.basename(into) == "slots":
        slot = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        try:
            target = prepare(into, name)
            for below in os.listdir(slot)[:100]:
                if below != NOT_TAKEN_OVER:
                    _copy(slot, below, target)
        finally:
            os.close(slot)
    elif stat.S_ISREG(status.st_mode):
        _copy(folder, name, into)


def _copy(folder: int, name: str, into: str) -> None:
    """Copy a regular file of this user with its time, unless one of its name is there."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    try:
        source = os.open(name, flags, dir_fd=folder)
    except OSError:
        return
    try:
        status = os.fstat(source)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or status.st_size > MAX_BYTES_TAKEN_OVER:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(f"{into}/{name}", flags, 0o600)
        try:
            write_all(target, os.read(source, MAX_BYTES_TAKEN_OVER))
            os.utime(target, ns=(status.st_mtime_ns, status.st_mtime_ns))
        finally:
            os.close(target)
    except FileExistsError:
        return
    finally:
        os.close(source)


def remove(path: str) -> None:
    """Remove a folder with what is in it, or whatever else is there; no link is followed."""
    from shutil import rmtree

    try:
        if not os.path.islink(path) and os.path.isdir(path):
            rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except OSError:
        return
