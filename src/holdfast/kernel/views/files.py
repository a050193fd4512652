"""Where a view's file is, what it is, and what it says, without ever following a link."""

from __future__ import annotations

import os
import stat

from holdfast.kernel.digest import digest
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.plain_file import open_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

# More than this is no view of ours; it goes to quarantine unread.
LARGEST_VIEW = 16 * 1024 * 1024
# How often a file is read again that another process keeps writing to.
READS = 20
_NO_NAMES = frozenset(("", ".", ".."))


class Unreadable(Exception):
    """Why a file at a view's place cannot be taken for a view."""


def target_of(workspace: Workspace, path: str) -> str:
    """The absolute place of a view; a name that leaves the workspace is refused."""
    parts = path.split("/")
    root = workspace.root
    if not _NO_NAMES.isdisjoint(parts) or "\0" in path or _leads_outside(root, parts[:-1]):
        raise NotAllowed(
            f"{path!r} leaves the workspace {root}.",
            hint="A view's name is a relative path inside the workspace, not through a link.",
            kind="outside_workspace",
        )
    return os.path.join(root, path)


def _leads_outside(root: str, folders: list[str]) -> bool:
    """Whether a link among the folders below the root leads out of it. The root itself is no link."""
    place = root
    for folder in folders:
        place = f"{place}/{folder}"
        try:
            mode = os.lstat(place).st_mode
        except (OSError, ValueError):
            return False  # nothing is there, nor below it
        if stat.S_ISLNK(mode):
            inside = os.path.realpath(os.path.join(root, *folders))
            return not (inside == root or inside.startswith(root + os.sep))
    return False


def identity_of(place: str) -> str | None:
    """Device, inode, time and size of what stands at a place; None when nothing does.

    Good enough to tell our file from any other because `stage` gives each a time of its own.
    """
    try:
        status = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return identity(status)


def identity(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"


def content_digest(content: bytes) -> str:
    return digest(content).hex()[:32]


def read_file(place: str) -> tuple[str, bytes]:
    """Identity and content of a regular file; Unreadable says what else it is."""
    try:
        descriptor = open_plain(place)
    except FileNotFoundError:
        raise
    except OSError as error:
        status = os.lstat(place)
        if stat.S_ISLNK(status.st_mode):
            raise Unreadable(f"a link to {os.readlink(place)}") from None
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
