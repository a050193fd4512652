"""Reading a file that others can write: the one way to do it.

A pipe would keep the reader waiting, a device or a huge file would fill the memory, and a link leads
elsewhere. Each is an OSError here, at once, whose `strerror` says what it is.
"""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 16 * 1024 * 1024


def read_plain(path: str, largest: int = LARGEST, *, follow: bool = True) -> bytes:
    """The content of a regular file of at most `largest` bytes. `follow` goes through links."""
    descriptor = open_plain(path, follow=follow)
    try:
        if os.fstat(descriptor).st_size > largest:
            raise OSError(errno.EFBIG, _too_large(largest), path)
        chunks, left = [], largest + 1
        while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        if left <= 0:  # it grew while we read
            raise OSError(errno.EFBIG, _too_large(largest), path)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def open_plain(path: str, *, follow: bool = False) -> int:
    """A descriptor of a regular file; opening does not wait for another process."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        what = "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file"
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, what, path)
    return descriptor


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
