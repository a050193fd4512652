"""Appending to a journal in SQLite.

The table `recent` stays, with its move to the indexed table: a commit writes one page of it, and without it one page
each of four b-trees. In turns with LangGraph's SqliteSaver.put, a record of 2 KB took 0.69 to 1.11 of it with the
table, and without it 1.02 to 1.25 where a sync took 2 to 8 ms, 1.31 to 1.74 where it took less than 1 ms. The bar
is 1.1.
"""

from __future__ import annotations

from holdfast.journal.chain import ORIGIN, seal
from holdfast.journal.interface import (
    id_taken,
    is_expected,
    receipt_of,
    record_of,
    refuse_unless_current,
    snapshot_is_due,
    version_conflict,
    weight_of,
    written_record,
)
from holdfast.journal.sqlite_rows import (
    LARGEST_RECENT,
    MOST_RECENT,
    RECORD,
    RESTORED_AFTER,
    TABLES,
    file_recent,
    held_fence,
    next_fence,
    store_snapshot,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

    from holdfast.journal.interface import Append, Receipt, Record

_STREAM = (
    "SELECT number, version, hash, fence, seen_at, closed_at, delta_bytes, snapshot_bytes"
    " FROM streams WHERE name = ?"
)
_RECENT = (
    "SELECT seq, id, stream, version, hash, seen_at, delta_bytes, snapshot_bytes FROM recent"
    " ORDER BY seq"
)
# Nothing is inserted when a moved record has the id; of those in `recent`, the tail knows.
_INSERT = (
    "INSERT INTO recent SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15"
    " WHERE NOT EXISTS (SELECT 1 FROM records WHERE id = ?2)"
)


class TailOfStream:
    """Where one stream ends. `held` is the fence that its records tell, once it was asked for."""

    def __init__(self, row: Sequence[Any]) -> None:
        self.number, self.version, self.hash, self.fence = row[:4]
        self.seen_at, self.closed_at, self.deltas, self.snapshot_bytes = row[4:]
        self.held: int | None = None


class Tail:
    """Where the journal ends, as one connection knows it inside a write transaction.

    SQLite counts up the connection's `data_version` with every change of the file, by whichever process.
    While the number stays, the connection need not look again: that saves four of six statements of a
    commit. The newest records, of which no index knows, are read once.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.data_version = 0
        self._look()

    def _look(self) -> None:
        self._streams: dict[str, TailOfStream] = {}
        self._newest: dict[int, tuple[Any, ...]] = {}
        self._ids: set[str] = set()
        self._first = self._seq = 0
        for seq, id, number, *head in self._connection.execute(_RECENT):
            self._first = self._first or seq
            self._seq = seq
            self._ids.add(id)
            self._newest[number] = tuple(head)
        if not self._seq:
            row: Any = self._connection.execute(
                f"SELECT max(coalesce((SELECT max(seq) FROM records), 0), ({RESTORED_AFTER}))"
            ).fetchone()
            self._seq = row[0]

    def append(self, append: Append) -> Receipt:
        """Add records to their stream. Raises a `Conflict` where this writer may not."""
        stream = self._streams.get(append.stream) or self._stream(append)
        if stream.held is None and (append.grant or append.fence is not None):
            stream.held = held_fence(self._connection, stream.number, append.stream, stream.fence)
        held = stream.fence if stream.held is None else stream.held
        refuse_unless_current(append, held, stream.closed_at)
        if not is_expected(append, stream.version, stream.hash):
            raise version_conflict(append, stream.version, self._winner(append, stream))
        if append.grant:
            held = stream.fence = stream.held = next_fence(self._connection, held)
            self._connection.execute(
                "UPDATE streams SET fence = ? WHERE number = ?", (held, stream.number)
            )
        written = self._write(append, stream, held if append.grant else append.fence)
        return receipt_of(append.stream, stream.version, held, written, duplicate=False)

    def _stream(self, append: Append) -> TailOfStream:
        name = append.stream
        row: Any = self._connection.execute(_STREAM, (name,)).fetchone()
        if row is None:
            refuse_unless_current(append, None, None)
            self._connection.execute(
                "INSERT INTO streams (name, version, hash, fence, seen_at, anchor_hash)"
                " VALUES (?, 0, ?, 0, '', ?)",
                (name, ORIGIN, ORIGIN),
            )
            row = self._connection.execute(_STREAM, (name,)).fetchone()
        stream = self._streams[name] = TailOfStream(row)
        newest = self._newest.get(stream.number)
        if newest is not None:
            stream.version, stream.hash, seen_at, stream.deltas, stream.snapshot_bytes = newest
            stream.seen_at = max(stream.seen_at, seen_at)
        return stream

    def _winner(self, append: Append, stream: TailOfStream) -> Record | None:
        """The record that another writer added first."""
        for table in TABLES:
            row: Any = self._connection.execute(
                f"{RECORD.format(table=table)} WHERE r.stream = ? AND r.version > ?"
                " ORDER BY r.version LIMIT 1",
                (stream.number, append.expected or 0),
            ).fetchone()
            if row is not None:
                return record_of(row)
        return None

    def _write(self, append: Append, stream: TailOfStream, fence: int | None) -> list[Record]:
        connection, name = self._connection, append.stream
        drafts = append.drafts
        written: list[Record] = []
        is_large = False
        for draft in drafts:
            id, at, text = draft["id"], draft["at"], draft["text"]
            stream.version += 1
            self._seq += 1
            salt, body_hash, stream.hash = seal(stream.hash, name, stream.version, fence, draft)
            stream.deltas += weight_of(text)
            stream.seen_at = max(stream.seen_at, at)
            is_last = len(written) == len(drafts) - 1
            if is_last and snapshot_is_due(append, stream.deltas, stream.snapshot_bytes):
                stream.snapshot_bytes = store_snapshot(
                    connection, stream.number, stream.version, append.state, (name, stream.hash)
                )
                stream.deltas = 0
            if id in self._ids:
                raise id_taken(append)
            connection.execute(
                _INSERT,
                (
                    self._seq,
                    id,
                    stream.number,
                    stream.version,
                    stream.hash,
                    stream.seen_at,
                    stream.deltas,
                    stream.snapshot_bytes,
                    at,
                    draft["actor"],
                    fence,
                    draft["kind"],
                    salt,
                    text,
                    body_hash,
                ),
            )
            if not connection.changes():
                raise id_taken(append)
            self._ids.add(id)
            written.append(
                written_record(draft, self._seq, name, stream.version, fence, stream.hash)
            )
            is_large = is_large or len(text) > LARGEST_RECENT
        if written:
            self._first = self._first or written[0]["seq"]
        if is_large or self._seq - (self._first or self._seq) >= MOST_RECENT:
            file_recent(connection)
            self._look()
        return written
