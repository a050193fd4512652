"""Files of JSON lines beside a stream: made from the journal, appended to and never rewritten.

What a crash kept from such a file, the next command appends. How a line is recognised is its owner's
business.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.kernel import canonical_json
from holdfast.kernel.plain_file import write_all
from holdfast.kernel.text import harmless_json
from holdfast.kernel.tree_file import TreeFile

# Enough for the last line, unless it is very long.
TAIL = 4096
# The files that this process appended to last: what they were then, and their last line. One that is still the
# same need not be read again.
MOST_LEFT = 64
_left: dict[str, tuple[tuple[int, int, int, int], Any]] = {}


class LineFile:
    """One such file, opened for one process at a time. `is_ours` tells a line of its owner from any
    other JSON."""

    def __init__(self, file: TreeFile, is_ours: Callable[[Any], bool]) -> None:
        self._descriptor = file.open_to_append()
        self._path = str(file)
        self._is_ours = is_ours
        self._size = 0
        # The last line that this process appended; None if the file is another one since.
        self._left: Any = None

    def __enter__(self) -> LineFile:
        # Two processes that miss the same line must not both append it.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        status = os.fstat(self._descriptor)
        stamp, line = _left.get(self._path, (None, None))
        self._size, self._left = status.st_size, line if stamp == _stamp_of(status) else None
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def last(self) -> Any:
        """The last whole line of its owner's; None when there is none."""
        if self._left is not None:
            return self._left
        length = TAIL
        while self._size:
            text = os.pread(self._descriptor, length, max(self._size - length, 0))
            for piece in reversed(text.split(b"\n")[:-1]):
                value = self._value(piece)
                if value is not None:
                    return value
            if length >= self._size:
                return None
            length *= 4
        return None

    def all(self) -> list[Any]:
        pieces = os.pread(self._descriptor, self._size, 0).split(b"\n")
        return [value for value in map(self._value, pieces) if value is not None]

    def append(self, lines: Sequence[Any]) -> None:
        text = harmless_json("".join([f"{canonical_json.line(line)}\n" for line in lines]))
        # What a crash cut off stays a line of its own, which no reader takes for one of ours.
        write_all(self._descriptor, ("\n" + text if self._is_torn() else text).encode())
        if len(_left) >= MOST_LEFT:
            _left.clear()
        status = os.fstat(self._descriptor)
        self._size, self._left = status.st_size, lines[-1]
        _left[self._path] = (_stamp_of(status), self._left)

    def _is_torn(self) -> bool:
        if self._left is not None or not self._size:
            return False
        return os.pread(self._descriptor, 1, self._size - 1) != b"\n"

    def _value(self, piece: bytes) -> Any:
        try:
            value = canonical_json.loads(piece.decode())
        except ValueError:
            return None
        return value if isinstance(value, dict) and self._is_ours(value) else None


def _stamp_of(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
