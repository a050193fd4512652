"""Reading a transcript's file: its beginning, and the lines that it got since it was last read.

A mark remembers which file it was, up to which byte whole lines were read, and a digest of the last
bytes before that. A file that shrank, was replaced or whose bytes differ there is read from its
beginning; a reader that counts by message id counts nothing twice.
"""

from __future__ import annotations

import os
from stat import S_ISREG

from holdfast.kernel import canonical_json
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.digest import digest
from holdfast.kernel.patterns import compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypedDict

    class LineMark(TypedDict):
        """How far a file was read. `identity` changes with every write to it."""

        identity: str
        file: str
        offset: int
        tail: str


CHUNK = 1 << 20
# A longer line is no line of a transcript; it is passed over without being kept in memory.
LONGEST_LINE = 32 << 20
# Enough that an id or a time is among them: many lines end alike.
TAIL = 4096
# How much of a file's beginning is read to tell whose it is, at first and at most.
FIRST_BYTES, MOST_BYTES = 4096, 1 << 20

_CWD = compile_later(rb'"cwd":\s*"((?:[^"\\]|\\.)*)"')


class Unread(Exception):
    """The file is not there, or is not one that can be read; the message says which."""


class NewLines:
    """Iterate for the new whole lines; `mark` is valid once the iteration has ended."""

    def __init__(self, path: str, mark: LineMark | None) -> None:
        self.mark = mark
        self.restarted = False
        self.skipped = 0
        self._path = path

    def has_news(self) -> bool:
        """Whether the file was written to since; a look that opens nothing."""
        try:
            found = os.stat(self._path)
        except OSError as error:
            raise Unread(_why(error)) from error
        if not S_ISREG(found.st_mode):
            raise Unread("is no file")
        return self.mark is None or self.mark["identity"] != _identity(found)

    def __iter__(self) -> Iterator[bytes]:
        try:
            # Without waiting: a pipe in the place of a transcript must not hold the reader up.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise Unread(_why(error)) from error
        try:
            found = os.fstat(descriptor)
            if not S_ISREG(found.st_mode):
                raise Unread("is no file")
            offset = self._begin(descriptor, found)
            yield from self._read(descriptor, offset, found)
        except OSError as error:
            raise Unread(_why(error)) from error
        finally:
            os.close(descriptor)

    def _begin(self, descriptor: int, found: os.stat_result) -> int:
        mark = self.mark
        if mark is None:
            return 0
        offset = mark["offset"]
        # Of a file that shrank, fewer bytes are there to compare.
        same = mark["file"] == _file(found) and _tail(descriptor, offset) == mark["tail"]
        self.restarted = not same
        return offset if same else 0

    def _read(self, descriptor: int, offset: int, found: os.stat_result) -> Iterator[bytes]:
        position, skipping = offset, False
        pieces: list[bytes] = []
        held = 0
        # Not past the size that was looked up, so that a busy writer does not keep us here.
        end = found.st_size
        while position < end:
            piece = os.pread(descriptor, min(CHUNK, end - position), position)
            if not piece:
                break
            position += len(piece)
            first, *whole = piece.split(b"\n")
            if whole:
                last = whole.pop()
                if skipping:
                    self.skipped += 1
                else:
                    yield b"".join((*pieces, first))
                yield from whole
                pieces, held, skipping = [], 0, False
                offset = position - len(last)
            else:
                last = first
            held += len(last)
            if held > LONGEST_LINE:
                pieces, skipping = [], True
            elif last and not skipping:
                pieces.append(last)
        self.mark = {
            "identity": _identity(found),
            "file": _file(found),
            "offset": offset,
            "tail": _tail(descriptor, offset),
        }


def read_piece(path: str, size: int, start: int = 0) -> bytes:
    """So many bytes of a regular file; nothing of anything else, and never a wait."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return b""
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return os.pread(descriptor, size, start)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def first_line(path: str) -> str:
    """A file of one line, without the blanks around it."""
    return read_piece(path, FIRST_BYTES).decode("utf-8", "replace").strip()


def first_record(path: str) -> dict[str, Any]:
    """The object on a file's first line; empty when there is none or it cannot be read."""
    head = read_piece(path, 16 * FIRST_BYTES)
    if b"\n" not in head:
        # Codex puts its instructions into the first line: tens of kilobytes and more.
        head = read_piece(path, MOST_BYTES)
    return object_in(head.partition(b"\n")[0])


def object_in(line: bytes) -> dict[str, Any]:
    """The object on a line; empty when there is none."""
    if not line.lstrip().startswith(b"{"):
        return {}
    try:
        return table_of(canonical_json.loads(line.decode()))
    except (ValueError, RecursionError):
        return {}


def json_text(raw: bytes) -> str:
    """The text that the inside of a JSON string stands for."""
    if b"\\" not in raw:
        return raw.decode("utf-8", "replace")
    try:
        return text_of(canonical_json.loads(f'"{raw.decode()}"'))
    except ValueError:
        return ""


def cwd_in(raw: bytes) -> str:
    """The folder that the first `cwd` of some bytes names; the last line of them may be cut."""
    found = _CWD.search(raw)
    return json_text(found[1]) if found else ""


def size_of(path: str) -> int:
    """How many bytes a file has; 0 if it cannot be told."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _tail(descriptor: int, offset: int) -> str:
    size = min(TAIL, offset)
    return digest(os.pread(descriptor, size, offset - size)).hex()


def _file(found: os.stat_result) -> str:
    return f"{found.st_dev}:{found.st_ino}"


def _identity(found: os.stat_result) -> str:
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def _why(error: OSError) -> str:
    return "is gone" if isinstance(error, FileNotFoundError) else error.strerror or "unreadable"
