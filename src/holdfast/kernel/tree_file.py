"""Files of a work tree: the one way to read, write, rename and remove them.

What stands below the root of a work tree came with a repository, or an agent put it there, perhaps at this very
moment. So a file is reached from a descriptor of the root, folder by folder, and no link is followed on the way:
a folder that is swapped for a link meanwhile leads nowhere. Only regular files are opened, without waiting, and
what was opened is looked at again. Nothing is written in place: new content is a new file beside its target, which
takes its name in one step. No path leads into a repository's own folder.

A link that a person made inside of the tree may lead to another folder of the same tree. It is resolved once, and
the folders that it names are opened in the same way. The root itself may be reached through links.

Whatever is in the way is an OSError whose `strerror` says what it is.
"""

from __future__ import annotations

import errno
import os
import stat

from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.plain_file import LARGEST, read_descriptor, write_all
from holdfast.kernel.rename import exchange_names, take_name

_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC
# A folder that may be passed but not listed is opened as well, where the system can.
_PASSED = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# How the name of a file begins that is being written.
UNFINISHED = ".holdfast-"
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_NAMES = frozenset(("", ".", ".."))
_IN_THE_WAY = (errno.ELOOP, errno.ENOTDIR)
# Letters that HFS+ leaves out when it compares names.
_UNSEEN = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
_WITHOUT_UNSEEN = dict.fromkeys(map(ord, _UNSEEN))


def is_git_name(name: str) -> bool:
    """Return whether a name is, or is taken by some file system for, that of a repository's own folder.

    These are the rules by which git refuses a path: letters of any case, letters that HFS+ does not see, and what
    NTFS leaves out at the end of a name, names a stream by, or has as a short name.
    """
    if "git" not in name.lower() and name.isascii():
        return False
    for part in name.translate(_WITHOUT_UNSEEN).lower().split("\\"):
        if part.partition(":")[0].rstrip(" .") in (".git", "git~1"):
            return True
    return False


def refuse_name(root: str, path: str) -> None:
    """Refuse a path that leaves the root, or leads into a repository's own folder."""
    parts = path.split("/")
    if not _NO_NAMES.isdisjoint(parts) or "\0" in path:
        raise NotAllowed(
            f"{path!r} leaves the workspace {root}.",
            hint="A file's name is a relative path inside the workspace, not through a link.",
            kind="outside_workspace",
        )
    if any(map(is_git_name, parts)):
        raise NotAllowed(
            f"{path!r} is in a folder of git's own.",
            hint="Nothing is written there. Name another folder.",
            kind="outside_workspace",
        )


class TreeFile:
    """One file or folder below a root, named by its path from there. It need not exist.

    `is_strict`: no link at all may be on the way, also none to another folder of the tree.
    """

    def __init__(self, root: str, path: str, *, is_strict: bool = False) -> None:
        refuse_name(root, path)
        self.root = root
        self.path = path
        self.is_strict = is_strict

    def __str__(self) -> str:
        return f"{self.root}/{self.path}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeFile) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def beside(self, name: str) -> TreeFile:
        """Return the file of another name in the same folder."""
        folder = self.path.rpartition("/")[0]
        path = f"{folder}/{name}" if folder else name
        return TreeFile(self.root, path, is_strict=self.is_strict)

    def below(self, name: str) -> TreeFile:
        """Return a file in this folder."""
        return TreeFile(self.root, f"{self.path}/{name}", is_strict=self.is_strict)

    def is_beside(self, other: TreeFile) -> bool:
        """Return whether another file is in the same folder."""
        ours, theirs = self.path.rpartition("/")[0], other.path.rpartition("/")[0]
        return self.root == other.root and ours == theirs

    def is_apart(self) -> bool:
        """Return whether a link on the way to it leads out of the root."""
        return _is_apart(self.root, self.path.split("/")[:-1])

    # What is there

    def status(self) -> os.stat_result | None:
        """Return what stands there, which may be a link; None when nothing does."""
        try:
            with OpenFolder(self) as folder:
                return os.stat(self.name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_file(self) -> bool:
        """Return whether it is a regular file that can be reached."""
        try:
            found = self.status()
        except OSError:
            return False
        return found is not None and stat.S_ISREG(found.st_mode)

    def link(self) -> str:
        """Return where a link leads."""
        with OpenFolder(self) as folder:
            return os.readlink(self.name, dir_fd=folder)

    def names(self) -> list[str]:
        """Return the names in a folder."""
        with OpenFolder(self) as folder:
            listed = os.open(self.name, os.O_RDONLY | os.O_NOFOLLOW | _FOLDER, dir_fd=folder)
        try:
            return os.listdir(listed)
        finally:
            os.close(listed)

    def names_if_any(self) -> list[str]:
        """Return the names in a folder; none where it is no folder, or cannot be listed."""
        try:
            return self.names()
        except OSError:
            return []

    # Reading

    def open(self) -> int:
        """Return a descriptor of a regular file, for reading."""
        with OpenFolder(self) as folder:
            descriptor = os.open(self.name, _READ, dir_fd=folder)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            is_folder = stat.S_ISDIR(mode)
            what = "it is a folder" if is_folder else "it is not a regular file"
            raise OSError(errno.EISDIR if is_folder else errno.EINVAL, what, str(self))
        return descriptor

    def read(self, largest: int = LARGEST) -> bytes:
        """Return the content of a regular file of at most `largest` bytes."""
        descriptor = self.open()
        try:
            return read_descriptor(descriptor, os.fstat(descriptor).st_size, largest, str(self))
        finally:
            os.close(descriptor)

    # Writing

    def create(self, mode: int = 0o666, *, make_folders: bool = False) -> int:
        """Return a descriptor of a new file, for writing; FileExistsError where anything stands."""
        with OpenFolder(self, make=make_folders) as folder:
            return os.open(self.name, _CREATE, mode, dir_fd=folder)

    def open_to_append(self) -> int:
        """Return a descriptor of a regular file that is appended to in place, made where it is missing. One that
        has a second name is refused: what that name is for is not known."""
        with OpenFolder(self, make=True) as folder:
            descriptor = os.open(self.name, _APPEND, 0o666, dir_fd=folder)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(descriptor)
            is_file = stat.S_ISREG(status.st_mode)
            what = "it has another name" if is_file else "it is not a regular file"
            raise OSError(errno.EMLINK if is_file else errno.EINVAL, what, str(self))
        return descriptor

    def write(self, content: bytes, mode: int | None = None, *, is_new: bool = False) -> None:
        """Write a whole, synced file, or none; folders on the way are made. `is_new`: FileExistsError where
        anything stands. Without a mode it gets that of every new file."""
        unfinished = self.beside(f"{UNFINISHED}{os.urandom(8).hex()}.unfinished")
        descriptor = unfinished.create(0o666 if mode is None else 0o600, make_folders=True)
        try:
            if mode is not None:
                os.fchmod(descriptor, mode)
            write_all(descriptor, content)
            os.fsync(descriptor)
            if is_new:
                place_new(unfinished, self)
            else:
                unfinished.rename(self)
        except BaseException:
            unfinished.remove_if_any()
            raise
        finally:
            os.close(descriptor)

    def write_link(self, aim: bytes) -> None:
        """Make a link; FileExistsError where anything stands."""
        with OpenFolder(self, make=True) as folder:
            os.symlink(aim, os.fsencode(self.name), dir_fd=folder)

    def make_folder(self, mode: int = 0o777) -> None:
        """Make this folder and those above it, where they are missing."""
        with OpenFolder(self.below("_"), make=True, mode=mode):
            pass

    def make_new_folder(self, mode: int) -> None:
        """Make this one folder; FileExistsError where anything stands."""
        with OpenFolder(self) as folder:
            os.mkdir(self.name, mode, dir_fd=folder)

    def rename(self, to: TreeFile) -> None:
        """Rename it, also over another file."""
        with OpenFolder(self) as here:
            if self.is_beside(to):
                os.rename(self.name, to.name, src_dir_fd=here, dst_dir_fd=here)
                return
            with OpenFolder(to) as there:
                os.rename(self.name, to.name, src_dir_fd=here, dst_dir_fd=there)

    def remove(self) -> None:
        """Remove a file, or a link itself."""
        with OpenFolder(self) as folder:
            os.unlink(self.name, dir_fd=folder)

    def remove_if_any(self) -> None:
        """Remove it where that can be done."""
        try:
            self.remove()
        except OSError:
            pass

    def remove_folder(self) -> None:
        """Remove an empty folder; anything else stays."""
        try:
            with OpenFolder(self) as folder:
                os.rmdir(self.name, dir_fd=folder)
        except OSError:
            pass


def exchange(one: TreeFile, other: TreeFile) -> bool:
    """Swap two files. False where the file system cannot: then the other one is gone."""
    with OpenFolder(one) as here:
        if one.is_beside(other):
            return exchange_names(here, one.name, here, other.name)
        with OpenFolder(other) as there:
            return exchange_names(here, one.name, there, other.name)


def place_new(one: TreeFile, other: TreeFile, *, folder_mode: int | None = None) -> None:
    """Rename a file; FileExistsError where anything stands. With a mode, missing folders are made."""
    make, mode = folder_mode is not None, folder_mode or 0
    with OpenFolder(one) as here:
        if one.is_beside(other):
            take_name(here, one.name, here, other.name)
            return
        with OpenFolder(other, make=make, mode=mode) as there:
            take_name(here, one.name, there, other.name)


class OpenFolder:
    """The folder that a file is in, as a descriptor to name the file from: `with OpenFolder(file) as folder`."""

    def __init__(self, file: TreeFile, *, make: bool = False, mode: int = 0o777) -> None:
        parts = file.path.split("/")[:-1]
        try:
            self._descriptor = _descend(file.root, parts, make, mode)
        except OSError as error:
            if error.errno not in _IN_THE_WAY:
                raise
            inside = _resolve(file.root, parts)
            if inside == parts:
                raise
            if inside is None or file.is_strict:
                what = "a link is on the way" if inside else "a link leads out of the work tree"
                raise OSError(errno.ELOOP, what, str(file)) from None
            self._descriptor = _descend(file.root, inside, make, mode)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _descend(root: str, folders: list[str], make: bool, mode: int) -> int:
    """Open the folders one after the other, each from the one before it."""
    descriptor = os.open(root, _FOLDER | (_PASSED & ~os.O_NOFOLLOW))
    try:
        for name in folders:
            try:
                below = os.open(name, _FOLDER | _PASSED, dir_fd=descriptor)
            except FileNotFoundError:
                if not make:
                    raise
                try:
                    os.mkdir(name, mode, dir_fd=descriptor)
                except FileExistsError:
                    pass
                below = os.open(name, _FOLDER | _PASSED, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _resolve(root: str, folders: list[str]) -> list[str] | None:
    """Return the folders without links; None where they leave the root, or lead to git's own."""
    top = os.path.realpath(root)
    real = os.path.realpath(os.path.join(root, *folders))
    if real == top:
        return []
    if not real.startswith(f"{top}/"):
        return None
    inside = real[len(top) + 1 :].split("/")
    return None if any(map(is_git_name, inside)) else inside


def _is_apart(root: str, folders: list[str]) -> bool:
    place = root
    for folder in folders:
        place = f"{place}/{folder}"
        try:
            mode = os.lstat(place).st_mode
        except (OSError, ValueError):
            return False  # nothing is there, nor below it
        if stat.S_ISLNK(mode):
            return _resolve(root, folders) is None
    return False
