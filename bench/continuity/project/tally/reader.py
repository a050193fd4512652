"""Reading ledgers from files."""

from collections.abc import Iterator
from pathlib import Path

from tally.entries import Entry
from tally.parser import parse_line


def read_entries(path: Path) -> list[Entry]:
    return list(iter_entries(path.read_text(encoding="utf-8")))


def iter_entries(text: str) -> Iterator[Entry]:
    for line_number, line in enumerate(text.splitlines(), start=1):
        entry = parse_line(line, line_number)
        if entry is not None:
            yield entry
