"""Whole files: reading one that others can write, and writing one that is all there or not at all.

There is one way to read a file that others can write. A pipe would keep the reader waiting, a device or a huge file would fill the memory, and a link leads
elsewhere. Each is an OSError here, at once, whose `strerror` says what it is.
"""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 16 * 1024 * 1024
# How the names of a SQLite database's files end.
DATABASE_FILES = ("", "-wal", "-shm", "-journal")


def read_plain(path: str, largest: int = LARGEST, *, follow: bool = True) -> bytes:
    """The content of a regular file of at most `largest` bytes. `follow` goes through links."""
    descriptor, size = _opened(path, follow=follow)
    try:
        return read_descriptor(descriptor, size, largest, path)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, size: int, largest: int, path: str) -> bytes:
    """Return the content of an open file that has `size` bytes now, and at most `largest` in the end."""
    if size > largest:
        raise OSError(errno.EFBIG, _too_large(largest), path)
    chunks, left = [], largest + 1
    # One byte more than there is: the usual file is read at once.
    wanted = size + 1 if size else 1 << 16
    while left > 0 and (chunk := os.read(descriptor, min(left, wanted))):
        chunks.append(chunk)
        left -= len(chunk)
        if len(chunk) == size:
            break
        wanted = 1 << 20
    if left <= 0:  # it grew while we read
        raise OSError(errno.EFBIG, _too_large(largest), path)
    return b"".join(chunks)


def open_plain(path: str, *, follow: bool = False) -> int:
    """A descriptor of a regular file; opening does not wait for another process."""
    return _opened(path, follow=follow)[0]


def _opened(path: str, *, follow: bool) -> tuple[int, int]:
    """The descriptor, and the size of the file."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    status = os.fstat(descriptor)
    mode = status.st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        what = "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file"
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, what, path)
    return descriptor, status.st_size


def strange_beside(path: str) -> str:
    """Return which file of a SQLite database is there and is not a regular one; empty where all are sound. SQLite
    opens each of them, and would wait for a pipe for ever."""
    for ending in DATABASE_FILES:
        if os.path.lexists(path + ending) and not os.path.isfile(path + ending):
            return path + ending
    return ""


def _too_large(largest: int) -> str:
    return f"it has more than {largest:,} bytes"


def is_nested_deeper(text: str, deepest: int) -> bool:
    """Whether brackets in a text are nested deeper than this. Parsers of YAML and TOML take seconds, or
    the whole stack, to find that out."""
    depth = 0
    for letter in text:
        if letter in "[{":
            depth += 1
            if depth > deepest:
                return True
        elif letter in "]}":
            depth = max(0, depth - 1)
    return False


def list_names(folder: str) -> list[str]:
    """Return the names in a folder, sorted; none where it cannot be listed."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def modified_at(path: str) -> int:
    """Return when a file was written to last, in milliseconds; 0 where that cannot be told."""
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return 0


# Writing

# There is no room for data: a file can still be made, with nothing in it.
FULL = (errno.ENOSPC, errno.EDQUOT)
# Never what stands there already, which may be a link.
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_all(descriptor: int, content: bytes) -> None:
    """A nearly full disk may take a part of what it is given, and say so."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def write_synced(path: str, content: bytes, mode: int = 0o600) -> None:
    """A whole, synced file under its name, or none: written aside and renamed. Private by default."""
    unfinished = f"{path}.{os.urandom(8).hex()}.unfinished"
    descriptor = os.open(unfinished, _CREATE, 0o600)
    try:
        if mode != 0o600:
            os.fchmod(descriptor, mode)
        write_all(descriptor, content)
        os.fsync(descriptor)
        os.rename(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise
    finally:
        os.close(descriptor)


def write_aside(path: str, content: bytes) -> None:
    """A whole file under its name, or the one before it: not synced, for what a power cut may take."""
    unfinished = f"{path}.{os.urandom(8).hex()}~"
    descriptor = os.open(unfinished, _CREATE, 0o600)
    try:
        write_all(descriptor, content)
        os.rename(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise
    finally:
        os.close(descriptor)


def unlink_if_any(path: str) -> None:
    """Remove a file, where it is there and can be removed."""
    try:
        os.unlink(path)
    except OSError:
        return


def remove_links(folder: str, mark: str = "") -> None:
    """Remove the links in a folder of ours: an archive brought them, or an agent put them there. With a mark, which
    holds the number of the private folder that it is in, and which an archive cannot know: unless it is right, the
    links, pipes and devices at any depth are removed."""
    is_known = not mark
    try:
        if mark:
            status = os.lstat(os.path.dirname(mark))
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(mark, flags)
            try:
                is_right = os.read(descriptor, 100) == f"{status.st_ino}\n".encode()
                is_ours = status.st_uid == os.geteuid() and not status.st_mode & 0o022
                is_known = stat.S_ISDIR(status.st_mode) and is_right and is_ours
            finally:
                os.close(descriptor)
    except OSError:
        pass
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                entries = list(found)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders += [] if is_known else [entry.path]
                elif entry.is_symlink() or not (is_known or entry.is_file(follow_symlinks=False)):
                    os.unlink(entry.path)
        except OSError:
            continue
