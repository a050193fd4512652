"""The journal in SQLite, through apsw: WAL kept, synchronous=FULL, one writer at a time.

Traps that shaped it, each with a test: connections keep the WAL and do not checkpoint when they
close, so that a process whose locks were dropped loses nothing; no code opens the
database files by other means than SQLite.
"""

from __future__ import annotations

import os
import stat
from _thread import get_ident

import apsw

from holdfast.journal.chain import loaded_from, refuse_strays
from holdfast.journal.interface import (
    EFFECT_FIELDS,
    REFUSAL_FIELDS,
    VIEW_FIELDS,
    Unguarded,
    anchored_of,
    effect_of,
    head_of,
    id_taken,
    loaded_of,
    receipt_of,
    record_of,
    refusal_of,
    sealed_of,
    value_of,
    view_of,
    wait_for_record,
)
from holdfast.journal.mark import Mark, lost_marks, lost_records
from holdfast.journal.sqlite_append import Tail
from holdfast.journal.sqlite_rows import (
    ANCHOR,
    HEAD,
    LINKED,
    NEWEST,
    RESTORED_AFTER,
    SEALED,
    TABLES,
    Reading,
    Transaction,
    believed_fence,
    held_fence,
    patience,
    prefix_range,
    store_effects,
    store_snapshot,
    store_views,
    translate_errors,
)
from holdfast.kernel import canonical_json
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound, StoreAway, journal_damaged
from holdfast.kernel.plain_file import DATABASE_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from holdfast.journal.interface import (
        Anchored,
        Append,
        Collected,
        Effect,
        Head,
        Loaded,
        Receipt,
        Record,
        Refusal,
        Sealed,
        ViewRow,
    )
    from holdfast.journal.mark import Marked

FORMAT = 3
APPLICATION_ID = 0x486F6C64  # "Hold"
# A checkpoint copies the WAL back after so many pages; most commits are one.
CHECKPOINT_PAGES = 24
# Bytes of the WAL that are kept when it begins anew; a commit that was larger gives the rest back. More
# than the pages before a checkpoint and those of the commit that reached it: a log that is cut off and grows
# again costs the next commits a change of the file's size each.
LARGEST_LOG = 304 * 1024
# How many fences are passed over when some may have been given that the file does not know.
FENCES_AHEAD = 1_000
# Seconds between two looks of a reader who waits for the next record.
WAIT_PAUSE = 0.05


# The columns of a record after its stream's snapshot, as `find_break` takes them.
_AFTER = "seq, id, version, at, actor, fence, kind, body, hash, salt, body_hash"
_AFTER_OF_RECORD = ", ".join(f"r.{column}" for column in _AFTER.split(", "))
# A stream's head and its snapshot, with the hash of the record of that version, if it was moved.
_LOADED = (
    "s.number, s.version, s.fence, s.seen_at, s.closed_at, s.anchor_version, coalesce(n.version, 0),"
    " n.state, n.digest, k.hash, s.anchor_hash, s.hash"
)
_SNAPSHOTS = " FROM streams s LEFT JOIN snapshots n ON n.stream = s.number"
_KNOWN = f"{_SNAPSHOTS} LEFT JOIN records k ON k.stream = n.stream AND k.version = n.version"
_FILED = f"SELECT {_AFTER} FROM records WHERE stream = ? AND version > ? ORDER BY version"
# The fence that the newest of the moved records tells, as one more column.
_FENCE = (
    ", (SELECT fence FROM records WHERE stream = s.number AND fence IS NOT NULL"
    " ORDER BY version DESC LIMIT 1)"
)
_BELOW = " WHERE s.name >= ? AND s.name < ? AND instr(substr(s.name, ?), '/') = 0"


def is_journal(connection: apsw.Connection) -> bool:
    """Whether a file is a journal, or empty and to become one."""
    application_id: Any = connection.execute("PRAGMA application_id").fetchone()
    if application_id[0] == APPLICATION_ID:
        return True
    if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None:
        return True
    # A dump that was read in again has lost the number.
    columns = connection.execute("SELECT name FROM pragma_table_info('streams')").fetchall()
    return ("anchor_hash",) in columns


def _loaded(
    connection: apsw.Connection,
    found: Sequence[Any],
    fence: int,
    rows: Sequence[Any],
    recent: Sequence[Any],
) -> Loaded:
    """Make a stream of its row (name, then the columns of `_LOADED`), its moved records after the snapshot, and
    its newest ones. A snapshot that was changed is left out where all records are there."""
    stream, number, version, _, seen_at, closed_at, anchor, start, state, *_ = found
    seal, known, anchor_hash, end = found[-4:]
    newest = [row[:-1] for row in recent]
    if newest:
        version, end, seen_at = newest[-1][2], newest[-1][8], max(seen_at, recent[-1][-1])
    if start > anchor and known is None:
        known = next((row[8] for row in newest if row[2] == start), None)
    head = head_of((stream, version, fence, seen_at, closed_at, anchor))
    ends = anchor_hash, end
    after = [*rows, *(row for row in newest if row[2] > start)]
    loaded = loaded_from(head, ends, (start, state, seal, known), after)
    if loaded is None:
        filed = connection.execute(_FILED, (number, 0)).fetchall()
        nothing = 0, None, None, None
        loaded = loaded_from(head, ends, nothing, [*filed, *newest], is_rebuilt=True)
        assert loaded is not None
    return loaded


def _identify(path: str) -> tuple[int, int] | None:
    """Return which file has a name; None where none has."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _replaced(path: str) -> StoreAway:
    return StoreAway(
        f"Another process has replaced the journal at {path}. Nothing was written to the new one.",
        hint="Run the same command again.",
        kind="journal_replaced",
    )


def make_journal(path: str, rows: Mapping[str, str]) -> None:
    """Make a new journal with these rows of `meta`, whole and synced. Only one process at a time may do so."""
    from holdfast.journal.migrate import make

    with translate_errors("making the journal", path):
        make(path, FORMAT, APPLICATION_ID, rows)


class SqliteJournal:
    """One file; a connection for each thread of each process that uses it."""

    def __init__(self, path: str, *, read_only: bool = False, is_new: bool = True) -> None:
        self.path = path
        self.read_only = read_only
        # Whether the file may be made. One that was there a moment ago is not begun anew.
        self._is_new = is_new
        self.mark = Mark(path)
        self._thread: Callable[[], int] = get_ident
        self._connections: dict[tuple[int, int], apsw.Connection] = {}
        self._tails: dict[apsw.Connection, Tail] = {}
        self._files: dict[apsw.Connection, tuple[int, int] | None] = {}
        # Streams whose snapshot was changed, and whose state was made of all their records.
        self.rebuilt: set[str] = set()
        self.connection()

    # Connections and transactions

    @property
    def place(self) -> str:
        return self.path

    def connection(self) -> apsw.Connection:
        # A forked child must not touch its parent's connection, so the key holds the process too.
        key = (os.getpid(), self._thread())
        connection = self._connections.get(key)
        if connection is not None and self._files[connection] != _identify(self.path):
            # Another process has put a salvaged or a restored journal into its place.
            if connection.in_transaction:
                raise _replaced(self.path)
            self._forget(key)
            connection = None
        if connection is None:
            with translate_errors("opening the journal", self.path):
                connection = self._connections[key] = self._open()
        return connection

    def _open(self) -> apsw.Connection:
        if self.read_only:
            flags = apsw.SQLITE_OPEN_READONLY
        else:
            flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if self._is_new else 0)
        # Before the file is opened: one that is replaced in between is then opened once more.
        file = _identify(self.path)
        # SQLite opens each of these, and would wait for a pipe for ever.
        for ending in DATABASE_FILES:
            try:
                mode = os.stat(self.path + ending).st_mode
            except OSError:
                continue
            if not stat.S_ISREG(mode):
                raise HoldfastError(
                    f"{self.path}{ending} is not a regular file.",
                    hint="Find out what put it there, then remove it. Nothing was changed.",
                    kind="not_a_journal",
                )
        connection = apsw.Connection(self.path, flags=flags)
        self._files[connection] = file or _identify(self.path)
        connection.set_busy_handler(patience())
        # Also keeps the WAL and its index in place, which read-only readers need.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        row: Any = connection.execute("PRAGMA user_version").fetchone()
        version: int = row[0]
        if version > FORMAT:
            connection.close()
            raise HoldfastError(
                f"The journal has format {version}; this holdfast knows formats up to {FORMAT}.",
                hint="Install the newer holdfast that wrote it. Nothing was changed.",
                kind="newer_format",
            )
        if not is_journal(connection):
            connection.close()
            raise HoldfastError(
                f"{self.path} is a database of another program.",
                hint="Move it away; holdfast makes a new journal. Nothing was changed.",
                kind="not_a_journal",
            )
        if version < FORMAT:
            from holdfast.journal.migrate import migrate, stand_in

            if not self.read_only:
                migrate(connection, FORMAT, APPLICATION_ID)
            elif version:
                stand_in(connection, version)
            else:
                connection.close()
                raise NotFound("There is no journal yet.", hint="Write something first.")
        connection.wal_autocheckpoint(CHECKPOINT_PAGES)
        connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}").fetchall()
        if not self.read_only and not self._connections:
            self._look_for_loss(connection)
        return connection

    def _look_for_loss(self, connection: apsw.Connection) -> None:
        marked = self.mark.newest()  # before the journal: a commit may come in between
        row: Any = connection.execute(
            "SELECT max(coalesce((SELECT max(seq) FROM recent), (SELECT max(seq) FROM records), 0),"
            f" ({RESTORED_AFTER}))"
        ).fetchone()
        if marked > row[0]:
            self.mark.keep_lost(row[0])
            # The fences that were given in the lost records must not be given again.
            connection.execute(
                "UPDATE meta SET value = CAST(value AS INTEGER) + ? WHERE key = 'fence'",
                (FENCES_AHEAD,),
            )

    def share(self) -> None:
        self._thread = int

    def close(self) -> None:
        process = os.getpid()
        for (owner, _), connection in list(self._connections.items()):
            if owner == process:
                connection.close()
        self._connections.clear()
        self._tails.clear()
        self._files.clear()
        self.mark.close()

    def _forget(self, key: tuple[int, int]) -> None:
        """Close one connection: its file is the journal no more."""
        connection = self._connections.pop(key)
        self._tails.pop(connection, None)
        del self._files[connection]
        connection.close()
        self.mark.close()

    def transaction(self, *, durable: bool = True, appends: bool = False) -> Transaction:
        return Transaction(self.connection(), self.path, durable=durable, appends=appends)

    def file_recent(self) -> None:
        """Move the newest records to the indexed table, for a reader who looks only there. A reader
        without the right to write misses the newest."""
        if not self.read_only and self._rows("SELECT 1 FROM recent LIMIT 1"):
            with self.transaction():
                pass

    # Writing

    def commit(
        self,
        appends: Sequence[Append],
        *,
        views: Sequence[ViewRow] = (),
        effects: Sequence[Effect] = (),
    ) -> list[Receipt]:
        refused: Append | None = None
        # Which file it is, is looked at afterwards, before the answer.
        connection = self._connections.get((os.getpid(), self._thread())) or self.connection()
        # Without it if this commit fails: what it changed of the tail did not happen.
        tail = self._tails.pop(connection, None)
        try:
            with Transaction(connection, self.path, durable=True, appends=True):
                if tail is None or tail.data_version != connection.data_version():
                    tail = Tail(connection)
                receipts = []
                for append in appends:
                    refused = append
                    receipts.append(tail.append(append))
                if views:
                    store_views(connection, views)
                if effects:
                    store_effects(connection, effects)
            if self._files[connection] != _identify(self.path):
                raise _replaced(self.path)
            tail.data_version = connection.data_version()
            self._tails[connection] = tail
            for receipt in receipts:
                self.mark.note(receipt["records"])
            return receipts
        except (Conflict, apsw.ConstraintError) as error:
            # Perhaps it was written before, and only the answer was lost.
            repeated = self._repeated(appends)
            if repeated:
                return repeated
            if refused is None:
                raise
            conflict = error if isinstance(error, Conflict) else id_taken(refused)
            if not conflict.retryable:
                self._keep_refused(refused, conflict.message)
            raise conflict from None

    def _repeated(self, appends: Sequence[Append]) -> list[Receipt]:
        first = next((append.drafts[0]["id"] for append in appends if append.drafts), "")
        before = self._by_ids([first]) if first else []
        if not before or before[0]["stream"] not in [append.stream for append in appends]:
            return []
        receipts: list[Receipt] = []
        for append in appends:
            known = self._by_ids([draft["id"] for draft in append.drafts])
            head: Any = self.head(append.stream)
            receipts.append(
                receipt_of(append.stream, head["version"], head["fence"], known, duplicate=True)
            )
        return receipts

    def _by_ids(self, ids: list[str]) -> list[Record]:
        marks = ",".join("?" * len(ids))
        return self._records(f"r.id IN ({marks})", ids, "r.seq")

    def _keep_refused(self, append: Append, reason: str) -> None:
        first = append.drafts[0] if append.drafts else None
        at, actor = (first["at"], first["actor"]) if first else ("", "")
        drafts = canonical_json.dumps(append.drafts)
        with self.transaction(appends=True) as connection:
            connection.execute(
                "INSERT INTO refused VALUES (?, ?, ?, ?, ?, ?, ?)",
                (new_id(), append.stream, at, actor, append.fence, reason, drafts),
            )

    def touch(self, stream: str, at: str) -> None:
        with self.transaction(durable=False, appends=True) as connection:
            connection.execute(
                "UPDATE streams SET seen_at = max(seen_at, ?) WHERE name = ?", (at, stream)
            )

    def end(self, stream: str, at: str) -> None:
        with self.transaction(appends=True) as connection:
            connection.execute("UPDATE streams SET closed_at = ? WHERE name = ?", (at, stream))

    def snapshot(self, stream: str, version: int, state: Any) -> None:
        with self.transaction() as connection:
            row: Any = connection.execute(
                "SELECT number FROM streams WHERE name = ?", (stream,)
            ).fetchone()
            size = store_snapshot(connection, row[0], version, state)
            connection.execute(
                "UPDATE streams SET delta_bytes = 0, snapshot_bytes = ? WHERE number = ?",
                (size, row[0]),
            )

    def erase(self, ids: Sequence[str]) -> int:
        with self.transaction() as connection:
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            before = connection.total_changes()
            connection.executemany(
                "UPDATE records SET salt = NULL, body = NULL WHERE id = ? AND salt IS NOT NULL",
                [(id,) for id in ids],
            )
            return connection.total_changes() - before

    def collect(self, *, before: str, keep: int, spared: Sequence[str] = ()) -> Collected:
        from holdfast.journal import upkeep

        with self.transaction() as connection:
            return upkeep.collect(connection, before, keep, tuple(spared))

    def scrub(self, text: str, mark: str) -> int:
        from holdfast.journal import upkeep

        with self.transaction() as connection:
            return upkeep.scrub(connection, text, mark)

    def put(self, key: str, value: str) -> None:
        with self.transaction(appends=True) as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def size(self) -> int:
        from holdfast.journal import upkeep

        return upkeep.size(self)

    def damage(self) -> list[str]:
        from holdfast.journal import upkeep

        return [*upkeep.integrity(self.connection()), *upkeep.list_unreadable(self.connection())]

    def compact(self, *, always: bool = False) -> int:
        from holdfast.journal import upkeep

        return upkeep.compact(self, always=always)

    # Reading

    def _rows(
        self, sql: str, values: Sequence[Any] = (), make: Callable[[Any], Any] = tuple
    ) -> list[Any]:
        """Return what `make` makes of each row."""
        with translate_errors("reading the journal", self.path):
            return [make(row) for row in self.connection().execute(sql, values)]

    def _records(
        self, where: str, values: Sequence[Any], order: str, limit: int | None = None
    ) -> list[Record]:
        """The records of both tables, in an order in which the newest are last, or first."""
        most = -1 if limit is None else limit
        tables = TABLES[::-1] if order.endswith("DESC") else TABLES
        rows: list[Any] = []
        with translate_errors("reading the journal", self.path), Reading(self.connection()) as at:
            for table in tables:
                sql = f"{LINKED.format(table=table)} WHERE {where} ORDER BY {order} LIMIT ?"
                rows += at.execute(sql, (*values, most - len(rows) if most > 0 else most))
            refuse_strays(rows)
            return [record_of(row[:10]) for row in rows]

    def alone(self, lost: int) -> Unguarded:
        return Unguarded()

    def load(self, stream: str) -> Loaded:
        with translate_errors("reading the journal", self.path), Reading(self.connection()) as at:
            found: Any = at.execute(
                f"SELECT {_LOADED}{_KNOWN} WHERE s.name = ?", (stream,)
            ).fetchone()
            if found is None:
                self._refuse_known(stream)
                return loaded_of(None)
            number, fence, start = found[0], found[2], found[6]
            rows = at.execute(_FILED, (number, start)).fetchall()
            recent = at.execute(
                f"SELECT {_AFTER}, seen_at FROM recent WHERE stream = ? ORDER BY seq", (number,)
            ).fetchall()
            if fence:
                fence = held_fence(at, number, stream, fence)
            return self._note_rebuilt(_loaded(at, (stream, *found), fence, rows, recent))

    def _note_rebuilt(self, loaded: Loaded) -> Loaded:
        """Keep for the caller's report that a snapshot was left out."""
        if loaded["is_rebuilt"] and loaded["head"] is not None:
            self.rebuilt.add(loaded["head"]["stream"])
        return loaded

    def load_all(self, prefix: str) -> list[Loaded]:
        # Three statements for all streams together. Nothing in a folder below the prefix.
        values = (*prefix_range(prefix), len(prefix) + 1)
        filed: dict[int, list[Any]] = {}
        recent: dict[int, list[Any]] = {}
        with translate_errors("reading the journal", self.path), Reading(self.connection()) as at:
            streams: Any = at.execute(
                f"SELECT s.name, {_LOADED}{_FENCE}{_KNOWN}{_BELOW} ORDER BY s.name", values
            ).fetchall()
            for number, *row in at.execute(
                f"SELECT s.number, {_AFTER_OF_RECORD}{_SNAPSHOTS} JOIN records r ON r.stream = s.number"
                f" AND r.version > coalesce(n.version, 0){_BELOW} ORDER BY s.number, r.version",
                values,
            ):
                filed.setdefault(number, []).append(row)
            for number, *row in at.execute(
                f"SELECT stream, {_AFTER}, seen_at FROM recent ORDER BY seq"
            ):
                recent.setdefault(number, []).append(row)
            loaded = []
            for *found, filed_fence in streams:
                name, number, fence = found[0], found[1], found[3]
                newest = recent.get(number, [])
                if fence:
                    told = [row[5] for row in newest if row[5] is not None]
                    fence = believed_fence(at, name, fence, told[-1] if told else filed_fence)
                stream = _loaded(at, found, fence, filed.get(number, []), newest)
                loaded.append(self._note_rebuilt(stream))
            return loaded

    def read(self, stream: str, *, after: int = 0, limit: int | None = None) -> list[Record]:
        return self._records("s.name = ? AND r.version > ?", (stream, after), "r.version", limit)

    def latest(
        self, *, stream: str = "", kind: str = "", before: int | None = None, limit: int = 50
    ) -> list[Record]:
        wanted = ["1"]
        values: list[str | int] = []
        if stream.endswith("*"):
            wanted.append("s.name >= ? AND s.name < ?")
            values += prefix_range(stream[:-1])
        elif stream:
            wanted.append("s.name = ?")
            values.append(stream)
        if kind:
            wanted.append("r.kind = ?")
            values.append(kind)
        if before is not None:
            wanted.append("r.seq < ?")
            values.append(before)
        return self._records(" AND ".join(wanted), values, "r.seq DESC", limit)

    def since(self, seq: int, *, limit: int = 1000) -> list[Record]:
        # SQLite has one writer at a time and the number is given inside the transaction, so the
        # order of the numbers is the order of the commits.
        return self._records("r.seq > ?", (seq,), "r.seq", limit)

    def wait(self, seq: int, seconds: float) -> bool:
        return wait_for_record(self, seq, seconds, WAIT_PAUSE)

    def find(self, prefix: str, *, limit: int = 2) -> list[Record]:
        return self._by_ids([prefix]) or self._records(
            "r.id >= ? AND r.id < ?", prefix_range(prefix), "r.id", limit
        )

    def heads(self, prefix: str = "") -> list[Head]:
        where = "s.name >= ? AND s.name < ? ORDER BY s.name"
        return self._rows(f"{HEAD} WHERE {where}", prefix_range(prefix), head_of)

    def newest(self, prefix: str, *, limit: int) -> list[str]:
        # A stream without records here was collected, or is a copy of a server's.
        rows = self._rows(
            f"SELECT s.name, coalesce(l.seq, r.seq, 0) AS position{NEWEST}"
            " LEFT JOIN records r ON r.stream = s.number AND r.version = s.version"
            " WHERE s.name >= ? AND s.name < ? ORDER BY position DESC, s.seen_at DESC LIMIT ?",
            (*prefix_range(prefix), limit),
        )
        return [row[0] for row in rows]

    def head(self, stream: str) -> Head | None:
        rows = self._rows(f"{HEAD} WHERE s.name = ?", (stream,), head_of)
        if not rows:
            self._refuse_known(stream)
        return rows[0] if rows else None

    def _refuse_known(self, stream: str) -> None:
        """Refuse a stream that is not there, though its files are known: its row was changed."""
        if self._rows(
            "SELECT 1 FROM views WHERE stream = ? AND placed_version > 0 LIMIT 1", (stream,)
        ):
            raise journal_damaged(f"{stream} is damaged: its files are known, and it is not there.")

    def anchors(self) -> list[Anchored]:
        return self._rows(f"{ANCHOR} ORDER BY s.name", (), anchored_of)

    def acknowledged(self) -> list[Marked]:
        # Those before a restore are in the copy that it made, or in none.
        restored_after: int = self._rows(RESTORED_AFTER)[0][0]
        return [marked for marked in self.mark.read() if marked["seq"] > restored_after]

    def lost(self) -> list[Marked]:
        return [entry for path in lost_marks(self.path) for entry in lost_records(path)]

    def sealed(self, stream: str) -> Iterator[Sealed]:
        # One statement: a record is moved from one table to the other at any time.
        filed, recent = (f"{SEALED.format(table=table)} WHERE s.name = ?1" for table in TABLES)
        with translate_errors("reading the journal", self.path):
            rows: Any = self.connection().execute(
                f"SELECT * FROM ({filed} ORDER BY r.version)"
                f" UNION ALL SELECT * FROM ({recent} ORDER BY r.version)",
                (stream,),
            )
            for row in rows:
                yield sealed_of(row)

    def views(self, *, worktree: str = "", stream: str = "", path: str = "") -> list[ViewRow]:
        # Only what is asked for, so that an index serves: the fleet has a few files for each of its agents.
        given = {"worktree": worktree, "stream": stream, "path": path}
        wanted = "".join(f" AND {field} = ?" for field, value in given.items() if value)
        return self._rows(
            f"SELECT {', '.join(VIEW_FIELDS)} FROM views WHERE 1{wanted} ORDER BY worktree, path",
            [value for value in given.values() if value],
            view_of,
        )

    def refusals(self, stream: str = "") -> list[Refusal]:
        return self._rows(
            f"SELECT {', '.join(REFUSAL_FIELDS)} FROM refused WHERE ?1 = '' OR stream = ?1"
            " ORDER BY at",
            (stream,),
            refusal_of,
        )

    def get(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,), value_of)
        return rows[0] if rows else None

    # The outbox

    def effects(
        self, *, due: str = "", kinds: Sequence[str] = (), limit: int = 100
    ) -> list[Effect]:
        marks = ",".join("?" * len(kinds))
        wanted = f" AND kind IN ({marks})" if kinds else ""
        return self._rows(
            f"SELECT {', '.join(EFFECT_FIELDS)} FROM outbox WHERE (? = '' OR due_at <= ?){wanted}"
            " ORDER BY due_at LIMIT ?",
            (due, due, *kinds, limit),
            effect_of,
        )

    def claim(self, effect: str, *, now: str, until: str) -> bool:
        with self.transaction(appends=True) as connection:
            connection.execute(
                "UPDATE outbox SET due_at = ?, attempts = attempts + 1 WHERE id = ? AND due_at <= ?",
                (until, effect, now),
            )
            return connection.changes() == 1

    def settle(self, effect: str, *, error: str = "", due_at: str = "") -> None:
        with self.transaction(appends=True) as connection:
            if error:
                connection.execute(
                    "UPDATE outbox SET error = ?, due_at = ? WHERE id = ?", (error, due_at, effect)
                )
            else:
                connection.execute("DELETE FROM outbox WHERE id = ?", (effect,))
