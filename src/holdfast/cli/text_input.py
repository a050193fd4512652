"""Read a text from a file, or from standard input for `-`."""

from __future__ import annotations

import sys

from holdfast.kernel.errors import NotFound, Usage


def text_from(source: str, *, largest: int, example: str, advice: str = "") -> str:
    """Read a text in UTF-8 of at most `largest` bytes. `example` is the hint when it is missing,
    `advice` when it is too long."""
    name = "standard input" if source == "-" else source
    if source == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise Usage("Give the text on standard input.", hint=example)
        content = sys.stdin.buffer.read(largest + 1)
    else:
        try:
            with open(source, "rb") as file:
                content = file.read(largest + 1)
        except FileNotFoundError:
            raise NotFound(f"There is no file {source}.") from None
        except OSError as error:
            raise Usage(f"{source} cannot be read: {error.strerror}.") from None
    if len(content) > largest:
        raise Usage(f"{name} has more than {largest} bytes.", hint=advice)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Usage(f"{name} is not UTF-8 at byte {error.start}.") from None
