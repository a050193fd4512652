"""Where a view's file is, what it is, and what it says, without ever following a link."""

from __future__ import annotations

import os
import stat

from holdfast.kernel.digest import digest
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.plain_file import open_plain
from holdfast.kernel.tree_file import TreeFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

# More than this is no view of ours; it goes to quarantine unread.
LARGEST_VIEW = 16 * 1024 * 1024
# How often a file is read again that another process keeps writing to.
READS = 20


class Unreadable(Exception):
    """Why a file at a view's place cannot be taken for a view."""


def file_at(workspace: Workspace, path: str) -> TreeFile:
    """Return a file of the work tree; a path that leaves it, or leads into git's own folder, is refused."""
    file = TreeFile(workspace.root, path)
    if file.is_apart():
        raise NotAllowed(
            f"{path!r} leaves the workspace {workspace.root}.",
            hint="A view's name is a relative path inside the workspace, not through a link.",
            kind="outside_workspace",
        )
    return file


def target_of(workspace: Workspace, path: str) -> str:
    """Return the absolute path of a view, for those who only name it."""
    return str(file_at(workspace, path))


def identity_of(place: TreeFile | str) -> str | None:
    """Device, inode, time and size of what stands at a place; None when nothing does.

    Good enough to tell our file from any other because `stage` gives each a time of its own.
    """
    if not isinstance(place, str):
        found = place.status()
        return identity(found) if found else None
    try:
        return identity(os.lstat(place))
    except (FileNotFoundError, NotADirectoryError):
        return None


def identity(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"


def content_digest(content: bytes) -> str:
    return digest(content).hex()[:32]


def read_file(place: TreeFile | str) -> tuple[str, bytes]:
    """Identity and content of a regular file; Unreadable says what else it is."""
    try:
        descriptor = open_plain(place) if isinstance(place, str) else place.open()
    except FileNotFoundError:
        raise
    except OSError as error:
        status = os.lstat(place) if isinstance(place, str) else place.status()
        if status is not None and stat.S_ISLNK(status.st_mode):
            aim = os.readlink(place) if isinstance(place, str) else place.link()
            raise Unreadable(f"a link to {aim}") from None
        if status is not None:
            _refuse_unlike_a_view(status)
        raise Unreadable(f"cannot be read ({error.strerror})") from None
    try:
        for _ in range(READS):
            before = os.fstat(descriptor)
            _refuse_unlike_a_view(before)
            os.lseek(descriptor, 0, os.SEEK_SET)
            chunks = []
            while chunk := os.read(descriptor, 1 << 20):
                chunks.append(chunk)
            # Written to while we read: what we have is of no single instant.
            if identity(os.fstat(descriptor)) == identity(before):
                return identity(before), b"".join(chunks)
        raise Unreadable("never still enough to be read")
    finally:
        os.close(descriptor)


def _refuse_unlike_a_view(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file")
    if status.st_size > LARGEST_VIEW:
        raise Unreadable(f"{status.st_size // 1_000_000} MB, too large for a view")


def text_of(content: bytes) -> str:
    """The text of a hand-edited file: byte order mark and foreign line ends forgiven."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 at byte {error.start}") from None
    if "\0" in text:
        raise Unreadable("binary data")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
