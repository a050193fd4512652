"""How the words of the journal stand in SQLite's tables, and how its errors read in ours."""

from __future__ import annotations

import os
import time

import apsw

from holdfast.journal.chain import fits_seal, seal_snapshot
from holdfast.journal.interface import EFFECT_FIELDS, VIEW_FIELDS
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import (
    HoldfastError,
    StoreAway,
    from_os_error,
    journal_damaged,
    out_of_memory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.journal.interface import Effect, ViewRow

BUSY_SECONDS = 5.0

# The number of the newest record before the last restore: later records have larger ones.
RESTORED_KEY = "restored_after"
RESTORED_AFTER = (
    f"SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM main.meta WHERE key = '{RESTORED_KEY}'"
)

# The tables that hold records, and in which order: every record of the second is newer than all of the
# first. What reads records reads both.
FILED, RECENT = "records", "recent"
TABLES = (FILED, RECENT)
# The newest records are moved to the indexed table when there are so many, or with one of so many
# characters. Each read of a stream looks at all that were not moved.
MOST_RECENT = 32
LARGEST_RECENT = 8 * 1024

RECORD = (
    "SELECT r.seq, r.id, s.name, r.version, r.at, r.actor, r.fence, r.kind, r.body, r.hash"
    " FROM {table} r JOIN streams s ON s.number = r.stream"
)
SEALED = RECORD.replace(" FROM", ", r.salt, r.body_hash FROM", 1)
# A record with what is needed to find it in its chain: the hash of the one before it.
LINKED = SEALED.replace(
    " FROM",
    ", CASE WHEN r.version = s.anchor_version + 1 THEN s.anchor_hash ELSE coalesce("
    + ", ".join(
        f"(SELECT p.hash FROM {table} p WHERE p.stream = r.stream AND p.version = r.version - 1)"
        for table in TABLES
    )
    + ") END FROM",
    1,
)
# The last of a stream's newest records says where the stream stands.
NEWEST = (
    " FROM streams s LEFT JOIN"
    " (SELECT stream, max(seq) AS seq FROM recent GROUP BY stream) l ON l.stream = s.number"
    " LEFT JOIN recent t ON t.seq = l.seq"
)
HEAD = (
    "SELECT s.name, coalesce(t.version, s.version), s.fence,"
    " max(s.seen_at, coalesce(t.seen_at, '')), s.closed_at, s.anchor_version" + NEWEST
)
ANCHOR = (
    "SELECT s.name, s.anchor_version, s.anchor_hash, coalesce(t.version, s.version),"
    " coalesce(t.hash, s.hash)" + NEWEST
)

_RENEW_VIEW = (
    "UPDATE views SET found = ?4, found_version = ?5, placed = ?6, placed_version = ?7,"
    " digest = ?8, removed = ?9 WHERE worktree = ?1 AND path = ?2 AND stream = ?3"
)


def patience() -> Callable[[int], bool]:
    """A busy handler that asks again every few milliseconds. SQLite's own sleeps ever longer, so that
    of 32 writers at once some never get their turn."""
    deadline = 0.0

    def wait(tries: int) -> bool:
        nonlocal deadline
        if tries == 0:
            deadline = time.monotonic() + BUSY_SECONDS
        elif time.monotonic() > deadline:
            return False
        time.sleep(0.001 + tries % 4 * 0.001)
        return True

    return wait


def prefix_range(prefix: str) -> tuple[str, str]:
    return prefix, prefix + "\U0010ffff"


# Behind it the name of a stream whose life ended on the server: the fence that holds it there.
ENDED_BY = "ended_by/"
_NEWEST_FENCE = (
    "SELECT fence FROM {table} WHERE stream = ? AND fence IS NOT NULL ORDER BY {order} DESC LIMIT 1"
)


def held_fence(connection: apsw.Connection, number: int, stream: str, stored: int) -> int:
    """The fence that holds a stream: that of its newest record with one. The number in the stream's
    row is not part of the chain, so it counts only where no record tells: in a copy of a server's
    stream, after `gc`, and where the server ended the life."""
    for sql in (
        _NEWEST_FENCE.format(table=RECENT, order="seq"),
        _NEWEST_FENCE.format(table=FILED, order="version"),
    ):
        row: Any = connection.execute(sql, (number,)).fetchone()
        if row is not None:
            break
    return believed_fence(connection, stream, stored, None if row is None else int(row[0]))


def believed_fence(connection: apsw.Connection, stream: str, stored: int, told: int | None) -> int:
    """The fence that holds a stream, from the one in its row and the one that its newest record tells."""
    if told is None or told == stored:
        return stored
    ended: Any = connection.execute(
        "SELECT 1 FROM meta WHERE key = ? AND value = ?", (ENDED_BY + stream, str(stored))
    ).fetchone()
    return stored if ended is not None else told


def next_fence(connection: apsw.Connection, held: int) -> int:
    """A fence that is larger than all before: by the counter, by the streams' rows, and by the records
    of the stream that gets it."""
    row: Any = connection.execute("SELECT max(fence) FROM streams").fetchone()
    given = max(held, row[0] or 0)
    row = connection.execute(
        "INSERT INTO meta VALUES ('fence', ?1 + 1) ON CONFLICT (key) DO UPDATE"
        " SET value = max(CAST(value AS INTEGER), ?1) + 1 RETURNING value",
        (given,),
    ).fetchone()
    return int(row[0])


def hash_at(connection: apsw.Connection, number: int, version: int) -> bytes | None:
    """Return the hash of the record of a version; None where it is not there."""
    for table in TABLES:
        row: Any = connection.execute(
            f"SELECT hash FROM {table} WHERE stream = ? AND version = ?", (number, version)
        ).fetchone()
        if row is not None:
            return bytes(row[0])
    return None


def store_snapshot(
    connection: apsw.Connection,
    number: int,
    version: int,
    state: Any,
    at: tuple[str, bytes] | None = None,
) -> int:
    """Keep a state in the place of the one before. `at` is the name of the stream, and the hash of the record
    of that version where it is not stored yet. Return the size."""
    text = canonical_json.dumps(state)
    name, record_hash = at or place_of_snapshot(connection, number, version)
    seal = seal_snapshot(name, version, record_hash, text)
    # Removed first, so that the new one takes the pages of the old one: an update needs both at once.
    connection.execute("DELETE FROM snapshots WHERE stream = ?", (number,))
    connection.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", (number, version, text, seal))
    return len(text)


def place_of_snapshot(connection: apsw.Connection, number: int, version: int) -> tuple[str, bytes]:
    """Return the name of a stream, and the hash of its record of a version: empty where `gc` removed it."""
    row: Any = connection.execute(
        "SELECT name, anchor_version, anchor_hash FROM streams WHERE number = ?", (number,)
    ).fetchone()
    name, anchor, anchor_hash = row
    return name, (anchor_hash if version == anchor else hash_at(connection, number, version) or b"")


def is_sealed(connection: apsw.Connection, number: int) -> bool:
    """Return whether the snapshot of a stream, if any, is the one that was stored."""
    row: Any = connection.execute(
        "SELECT version, state, digest FROM snapshots WHERE stream = ?", (number,)
    ).fetchone()
    if row is None:
        return True
    version, text, seal = row
    return fits_seal(seal, *_place(connection, number, version), text)


def _place(connection: apsw.Connection, number: int, version: int) -> tuple[str, int, bytes]:
    name, record_hash = place_of_snapshot(connection, number, version)
    return name, version, record_hash


def reseal_snapshot(connection: apsw.Connection, number: int) -> None:
    """Bind the snapshot of a stream, if any, to the chain as it is now."""
    row: Any = connection.execute(
        "SELECT version, state FROM snapshots WHERE stream = ?", (number,)
    ).fetchone()
    if row is not None:
        seal = seal_snapshot(*_place(connection, number, row[0]), row[1])
        connection.execute("UPDATE snapshots SET digest = ? WHERE stream = ?", (seal, number))


def store_views(connection: apsw.Connection, views: Sequence[ViewRow]) -> None:
    for row in views:
        fields: Any = row
        values = [fields[field] for field in VIEW_FIELDS]
        # Usually the same stream shows the same file: then the index over streams is not written to.
        connection.execute(_RENEW_VIEW, values)
        if not connection.changes():
            connection.execute(
                "INSERT OR REPLACE INTO views VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values
            )


def store_effects(connection: apsw.Connection, effects: Sequence[Effect]) -> None:
    for effect in effects:
        connection.execute(
            "DELETE FROM outbox WHERE kind = ? AND key = ?", (effect["kind"], effect["key"])
        )
        values: Any = {**effect, "body": canonical_json.dumps(effect["body"])}
        connection.execute(
            "INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [values[field] for field in EFFECT_FIELDS],
        )


def file_recent(connection: apsw.Connection) -> None:
    """Move the newest records to the table that has indexes, and bring the heads up to date."""
    rows = connection.execute(
        "SELECT seq, id, stream, version, at, actor, fence, kind, salt, body, body_hash, hash"
        " FROM recent ORDER BY seq"
    ).fetchall()
    if not rows:
        return
    connection.execute(
        "UPDATE streams SET version = t.version, hash = t.hash,"
        " seen_at = max(streams.seen_at, t.seen_at), delta_bytes = t.delta_bytes,"
        " snapshot_bytes = t.snapshot_bytes FROM recent t"
        " WHERE t.seq IN (SELECT max(seq) FROM recent GROUP BY stream)"
        " AND streams.number = t.stream"
    )
    # Removed first, so that the records take the pages that these give back. With free pages left over,
    # the file would be larger, and every third commit would write a page of the list of them too.
    connection.execute("DELETE FROM recent")
    connection.executemany(
        "INSERT INTO records"
        " (seq, id, stream, version, at, actor, fence, kind, salt, body, body_hash, hash)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


class Transaction:
    """BEGIN IMMEDIATE to COMMIT; whatever goes wrong rolls back and gets our own words.

    It finds every record in the table `records`, unless it `appends`: then it knows of both tables.
    """

    def __init__(
        self, connection: apsw.Connection, path: str, *, durable: bool, appends: bool
    ) -> None:
        self._connection = connection
        self._path = path
        self._durable = durable
        self._appends = appends

    def __enter__(self) -> apsw.Connection:
        try:
            if not self._durable:
                self._connection.execute("PRAGMA synchronous = NORMAL").fetchall()
            self._connection.execute("BEGIN IMMEDIATE")
            if not self._appends:
                file_recent(self._connection)
        except apsw.Error as error:
            self._end()
            raise in_our_words(error, "writing the journal", self._path) from error
        return self._connection

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                self._connection.execute("COMMIT")
        except apsw.Error as failure:
            raise in_our_words(failure, "writing the journal", self._path) from failure
        finally:
            self._end()
        if isinstance(error, apsw.Error) and not isinstance(error, apsw.ConstraintError):
            raise in_our_words(error, "writing the journal", self._path) from error
        if isinstance(error, UnicodeDecodeError):
            raise unreadable(self._path, str(error)) from error

    def _end(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        if not self._durable:
            self._connection.execute("PRAGMA synchronous = FULL").fetchall()


class Reading:
    """One instant for several statements; inside a transaction, they have that already."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._is_outermost = False

    def __enter__(self) -> apsw.Connection:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN")
            self._is_outermost = True
        return self._connection

    def __exit__(self, *_: object) -> None:
        if self._is_outermost:
            self._connection.execute("COMMIT")


class translate_errors:
    """SQLite's errors, in our words."""

    def __init__(self, doing: str, path: str) -> None:
        self._doing = doing
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, apsw.Error):
            raise in_our_words(error, self._doing, self._path) from error
        if isinstance(error, UnicodeEncodeError):
            return  # a word of the caller
        if isinstance(error, (TypeError, ValueError)):
            # A value that no version of ours writes: not UTF-8, not JSON, or of another type.
            raise unreadable(self._path, str(error)) from error


def unreadable(path: str, what: str) -> HoldfastError:
    return journal_damaged(f"The journal at {path} is damaged: a row cannot be read ({what}).")


def in_our_words(error: apsw.Error, doing: str, path: str) -> HoldfastError:
    """Return SQLite's error as one of ours."""
    if isinstance(error, apsw.NoMemError):
        return out_of_memory(doing)
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreAway(
            f"The journal is busy: {doing} waited {BUSY_SECONDS:.0f} s for another process.",
            hint="Try again in a moment.",
            kind="store_busy",
        )
    if isinstance(error, apsw.FullError):
        return StoreAway(
            f"The disk is full: {doing} failed. Nothing that was acknowledged is lost.",
            hint="Free some space and run the same command again.",
            kind="disk_full",
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError)):
        return StoreAway(
            f"No permission to write the journal at {path}.",
            hint="Make the folder writable for this user, or run as its owner.",
            kind="read_only",
        )
    if isinstance(error, apsw.CantOpenError):
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as reason:  # of no file: this process may open no more of them
            return from_os_error(reason, doing)
        return StoreAway(
            f"The journal at {path} cannot be opened.",
            hint="Look at the folder's permissions; `holdfast doctor` checks it.",
            kind="cannot_open",
        )
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return journal_damaged(f"The journal at {path} is damaged: {error}.")
    if isinstance(error, apsw.IOError):
        return StoreAway(f"{doing} failed: {error}.", kind="io_error")
    return HoldfastError(f"{doing} failed: {error}.", kind="journal_error")
