"""Files of JSON lines beside a stream: made from the journal, appended to and never rewritten.

What a crash kept from such a file, the next command appends. How a line is recognised is its owner's
business.
"""

from __future__ import annotations

import fcntl
import os

from holdfast.kernel import canonical_json
from holdfast.kernel.plain_file import write_all
from holdfast.kernel.text import harmless_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from json import JSONEncoder
    from typing import Any

# Enough for the last line, unless it is very long.
TAIL = 4096
# The files that this process appended to last: what they were then, and their last line. One that is still the
# same need not be read again.
MOST_LEFT = 64
_left: dict[str, tuple[tuple[int, int, int, int], Any]] = {}


class LineFile:
    """One such file, opened for one process at a time. `is_ours` tells a line of its owner from any
    other JSON."""

    def __init__(self, path: str, is_ours: Callable[[Any], bool]) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(path, flags, 0o666)
        self._path = path
        self._is_ours = is_ours

    def __enter__(self) -> LineFile:
        # Two processes that miss the same line must not both append it.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def last(self) -> Any:
        """The last whole line of its owner's; None when there is none."""
        known = self._line_left()
        if known is not None:
            return known
        size = os.fstat(self._descriptor).st_size
        length = TAIL
        while size:
            text = os.pread(self._descriptor, length, max(size - length, 0))
            for piece in reversed(text.split(b"\n")[:-1]):
                value = self._value(piece)
                if value is not None:
                    return value
            if length >= size:
                return None
            length *= 4
        return None

    def all(self) -> list[Any]:
        size = os.fstat(self._descriptor).st_size
        pieces = os.pread(self._descriptor, size, 0).split(b"\n")
        return [value for value in map(self._value, pieces) if value is not None]

    def append(self, lines: Sequence[Any]) -> None:
        text = harmless_json("".join([f"{_spell(line)}\n" for line in lines]))
        # What a crash cut off stays a line of its own, which no reader takes for one of ours.
        write_all(self._descriptor, ("\n" + text if self._is_torn() else text).encode())
        if len(_left) >= MOST_LEFT:
            _left.clear()
        _left[self._path] = (self._stamp(), lines[-1])

    def _is_torn(self) -> bool:
        if self._line_left() is not None:
            return False
        size = os.fstat(self._descriptor).st_size
        return bool(size) and os.pread(self._descriptor, 1, size - 1) != b"\n"

    def _line_left(self) -> Any:
        """The last line that this process appended; None if the file is another one since."""
        known = _left.get(self._path)
        return known[1] if known is not None and known[0] == self._stamp() else None

    def _stamp(self) -> tuple[int, int, int, int]:
        status = os.fstat(self._descriptor)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def _value(self, piece: bytes) -> Any:
        try:
            value = canonical_json.loads(piece.decode())
        except ValueError:
            return None
        return value if isinstance(value, dict) and self._is_ours(value) else None


def _spell(line: Any) -> str:
    """One line, with spaces after commas and colons. The encoder is made once: that takes longer than a line."""
    if not _encoders:
        from json import JSONEncoder

        _encoders.append(JSONEncoder(ensure_ascii=False))
    return _encoders[0].encode(line)


_encoders: list[JSONEncoder] = []
