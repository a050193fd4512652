"""Read the end of a program's output: enough to see why it stopped, never the whole file."""

from __future__ import annotations

import os
import re
import stat

MOST_BYTES = 6_000
# Colours and moves of a cursor; titles and links; all that begin with an escape.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\^_])")


def end_of(path: str) -> str:
    """The last lines of a log; an empty list if the log is gone."""
    if not is_plain(path):
        return ""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MOST_BYTES))
            text = without_terminal_codes(file.read(MOST_BYTES).decode("utf-8", "replace"))
    except OSError:
        return ""
    return text if size <= MOST_BYTES else text.partition("\n")[2] or text


def without_terminal_codes(text: str) -> str:
    """A line without terminal colours; of an overwritten line, its last version."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def is_plain(path: str, largest: int | None = None) -> bool:
    """Whether a path is a regular file. A pipe would make every page wait."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(seen.st_mode) and (largest is None or seen.st_size <= largest)
