"""How far a journal's file had got, beside the file.

SQLite's log is part of the journal: without `journal.db-wal`, what was committed since the last
checkpoint is gone, and the file is whole without it. So each commit also notes its records here,
without a sync of its own: after a power cut the mark may be behind, and says nothing then; it is
never ahead of what was acknowledged.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from holdfast.journal.interface import Record

    class Marked(TypedDict):
        """A record that was acknowledged."""

        seq: int
        stream: str
        version: int
        id: str
        kind: str
        at: str
        hash: str


# One slot for each of the newest records, by its number: two processes never write the same one.
SLOTS, SLOT = 64, 512
_FIELDS = ("seq", "stream", "version", "id", "kind", "at", "hash")
_FLAGS = os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Mark:
    """The file beside one journal. A mark that cannot be written or read is as good as none."""

    def __init__(self, journal_path: str) -> None:
        # A journal in memory has nothing beside it.
        self.path = "" if journal_path == ":memory:" else f"{journal_path}-mark"
        self._descriptor = -1

    def note(self, records: Iterable[Record]) -> None:
        """Note records that were committed."""
        if not self.path:
            return
        try:
            if self._descriptor < 0:
                self._descriptor = os.open(self.path, os.O_WRONLY | _FLAGS, 0o600)
            for record in records:
                line = canonical_json.dumps(
                    [
                        record["seq"],
                        record["stream"],
                        record["version"],
                        record["id"],
                        record["kind"],
                        record["at"],
                        record["hash"],
                    ]
                ).encode()
                if len(line) < SLOT:
                    place = record["seq"] % SLOTS * SLOT
                    os.pwrite(self._descriptor, line.ljust(SLOT - 1) + b"\n", place)
        except OSError:
            return

    def read(self) -> list[Marked]:
        """The newest records that were acknowledged, in their order."""
        return read(self.path)

    def newest(self) -> int:
        """The number of the newest record that was acknowledged."""
        numbers = (line[1:21].partition(b",")[0] for line in _lines(self.path))
        return max((int(number) for number in numbers if number.isdigit()), default=0)

    def keep_lost(self, last: int) -> None:
        """Put aside a mark that names records after `last`, which the journal does not have: new
        records would take their numbers, and nothing would tell of the lost ones."""
        try:
            os.rename(self.path, f"{self.path}.lost-{last}")
        except OSError:
            return
        self.close()

    def clear(self) -> None:
        """Forget everything: the journal was made another one on purpose."""
        try:
            if os.path.exists(self.path):
                os.truncate(self.path, 0)
        except OSError:
            return

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


def read(path: str) -> list[Marked]:
    found: list[Marked] = []
    for line in _lines(path):
        try:
            values = canonical_json.loads(line.decode())
            entry: Marked = dict(zip(_FIELDS, values, strict=True))  # type: ignore[assignment]
        except (ValueError, TypeError):
            continue
        kinds = (int, str, int, str, str, str, str)
        if all(isinstance(value, kind) for value, kind in zip(values, kinds, strict=True)):
            found.append(entry)
    return sorted(found, key=lambda entry: entry["seq"])


def lost_marks(journal_path: str) -> list[str]:
    """The marks that were put aside because the journal lacks what they name."""
    folder, name = os.path.split(f"{journal_path}-mark.lost-")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, each) for each in names if each.startswith(name)]


def lost_records(lost_mark: str) -> list[Marked]:
    """The records that a mark names and the journal did not have when the loss was found."""
    last = lost_mark.rpartition("-")[2]
    return [entry for entry in read(lost_mark) if not last.isdigit() or entry["seq"] > int(last)]


def _lines(path: str) -> list[bytes]:
    try:
        return read_plain(path, SLOTS * SLOT, follow=False).splitlines()
    except OSError:
        return []
