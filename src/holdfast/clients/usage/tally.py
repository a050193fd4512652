"""What was read so far: how far each file, and every message once.

A small SQLite file beside the journal, made again from the transcripts when it is lost or damaged. With it a
look at a transcript costs what is new in it. What a deleted transcript said stays counted: the money is spent.
"""

from __future__ import annotations

import os

import apsw

from holdfast.clients.usage.model import TOKENS
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.plain_file import DATABASE_FILES, unlink_if_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypedDict, TypeVar

    from holdfast.clients.usage.model import Message, QuotaReading

    T = TypeVar("T")

    class Total(TypedDict):
        """A sum of messages. `own` have the client's figure, `unpriced` have none at all."""

        messages: int
        own: int
        unpriced: int
        input: int
        output: int
        cache_read: int
        cache_write: int
        cost: float


# 4: without the totals of 3, which were kept beside the messages; an older file is made again from the transcripts.
FORMAT = 4
# Sessions that were not asked for in so many milliseconds are forgotten; their files are read anew.
FORGOTTEN_AFTER = 30 * 86_400_000
SUMS = ("messages", "own", "unpriced", *TOKENS, "cost")
_SUMMED = (
    "count(*), ifnull(sum(own), 0), ifnull(sum(cost IS NULL), 0), "
    + ", ".join(f"ifnull(sum({name}), 0)" for name in TOKENS)
    + ", ifnull(sum(cost), 0.0)"
)
_AGGREGATE = f"SELECT {_SUMMED} FROM message WHERE session = ?"
_BEFORE, _AFTER = (
    ("at", "model", "provider", "agent"),
    ("cache_write_hour", "counted", "own", "cost"),
)
_MESSAGE = (*_BEFORE, *TOKENS, *_AFTER)
SCHEMA = f"""
CREATE TABLE source(path TEXT, session TEXT, mark TEXT, state TEXT,
    PRIMARY KEY (path, session)) WITHOUT ROWID;
CREATE TABLE session(key TEXT PRIMARY KEY, data TEXT, asked INTEGER) WITHOUT ROWID;
CREATE TABLE message(session TEXT, id TEXT, {", ".join(_MESSAGE)},
    PRIMARY KEY (session, id)) WITHOUT ROWID;
CREATE TABLE error(session TEXT, id TEXT, said TEXT, number INTEGER,
    PRIMARY KEY (session, id)) WITHOUT ROWID;
CREATE TABLE observed(session TEXT PRIMARY KEY, seen TEXT);
CREATE INDEX message_time ON message(session, at);
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
PRAGMA user_version = {FORMAT};
"""
# Of an observation.
MAY_BE_NONE = ("first", "request")
FILE = "usage.db"
BUSY_MILLISECONDS = 5000


class Tally:
    """The numbers of all sessions that were ever asked for here."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._observed: dict[str, Any] = {}

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Tally:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self) -> bool:
        """Take the right to write; False when another process keeps it for too long."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except (apsw.BusyError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError):
            return False
        return True

    def end(self, *, keep: bool) -> None:
        if not keep:
            self._observed.clear()
        if self.connection.in_transaction:
            self.connection.execute("COMMIT" if keep else "ROLLBACK")

    def write(self, change: Callable[[], T]) -> T:
        """Make a change as a whole, or none of it. Return what it returns; StoreAway where another process writes."""
        if not self.begin():
            raise StoreAway("usage.db cannot be written to now.", hint="Try again.")
        done = False
        try:
            result = change()
            done = True
            return result
        finally:
            self.end(keep=done)

    # Whole rows

    def session(self, key: str) -> dict[str, Any]:
        row = self._row("SELECT data FROM session WHERE key = ?", key)
        return dict(canonical_json.loads(row[0])) if row else {}

    def sessions(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The same for several sessions."""
        rows = self._among("SELECT key, data FROM session WHERE key", keys)
        return {key: canonical_json.loads(data) for key, data in rows}

    def keep_session(self, key: str, data: dict[str, Any], now: int) -> None:
        self.connection.execute(
            "INSERT OR REPLACE INTO session VALUES (?, ?, ?)",
            (key, canonical_json.dumps(data), now),
        )

    def observed(self, key: str) -> Any:
        """What was observed of a session; None before anything was."""
        if key not in self._observed:
            row = self._row("SELECT seen FROM observed WHERE session = ?", key)
            self._observed[key] = canonical_json.loads(row[0]) if row else None
        return self._observed[key]

    def read_parts(self, keys: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
        """Some parts of what was observed of sessions, at least two; nothing of those of which nothing was. A whole
        observation takes three times as long to read."""
        sql = f"SELECT session, json_extract(seen{', ?' * len(names)}) FROM observed WHERE session"
        rows = self._among(sql, keys, *[f"$.{name}" for name in names])
        found = {key: zip(names, canonical_json.loads(parts), strict=True) for key, parts in rows}
        # An observation of an older version has not all of them.
        return {
            key: {name: one for name, one in parts if one is not None or name in MAY_BE_NONE}
            for key, parts in found.items()
        }

    def keep_observed(self, key: str, seen: Any) -> None:
        # Kept as an object, too: a look at it follows, and reading it again costs as much as a turn.
        self._observed[key] = seen
        self.connection.execute(
            "INSERT OR REPLACE INTO observed VALUES (?, ?)", (key, canonical_json.dumps(seen))
        )

    def keys(self, session: str) -> list[str]:
        """The known sessions with this id, whatever client's they are."""
        return [key for key in self._column("SELECT key FROM session") if _id_of(key) == session]

    def quota_readings(self) -> list[tuple[str, QuotaReading]]:
        """The last reading of each session whose client told one, with the client's name."""
        rows: list[Any] = self.connection.execute(
            "SELECT key, data FROM session WHERE instr(data, '\"quotas\"')"
        ).fetchall()
        read = [(key.partition(":")[0], canonical_json.loads(data)) for key, data in rows]
        return [(client, data["quotas"]) for client, data in read if "quotas" in data]

    def source(self, path: str, key: str) -> tuple[Any, dict[str, Any]]:
        """How far a file was read, and what its reader has to remember of it."""
        row = self._row("SELECT mark, state FROM source WHERE path = ? AND session = ?", path, key)
        return (canonical_json.loads(row[0]), canonical_json.loads(row[1])) if row else (None, {})

    def sources(self, key: str) -> list[str]:
        return self._column("SELECT path FROM source WHERE session = ?", key)

    def marks(self, keys: Sequence[str]) -> dict[tuple[str, str], Any]:
        """How far the files of sessions were read, by path and session."""
        rows = self._among("SELECT path, session, mark FROM source WHERE session", keys)
        return {(path, key): canonical_json.loads(mark) for path, key, mark in rows}

    def keep_source(self, path: str, key: str, mark: Any, state: dict[str, Any]) -> None:
        self.connection.execute(
            "INSERT OR REPLACE INTO source VALUES (?, ?, ?, ?)",
            (path, key, canonical_json.dumps(mark), canonical_json.dumps(state)),
        )

    # Messages and totals

    def count(self, key: str, agent: str, message: Message, cost: float | None) -> None:
        """Count a message once: it takes the place of what was counted for its id before."""
        told: dict[str, Any] = {**message, "agent": agent, "cost": cost}
        told["own"] = int(message["cost"] is not None)
        told["counted"] = int(message["counted"])
        values = (key, message["id"], *(told[name] for name in _MESSAGE))
        marks = ", ".join("?" * len(values))
        self.connection.execute(f"INSERT OR REPLACE INTO message VALUES ({marks})", values)

    def total(self, key: str, since: str = "") -> Total:
        """Return all messages of a session, or those after a time."""
        sql = f"{_AGGREGATE} AND at > ?" if since else _AGGREGATE
        return _total(self._row(sql, key, *([since] if since else [])) or ())

    def totals(self, keys: Sequence[str]) -> dict[str, Total]:
        """Return all messages of each of these sessions; nothing of those without any."""
        sql = f"SELECT session, {_SUMMED} FROM message WHERE session"
        return {row[0]: _total(row[1:]) for row in self._among(sql, keys, then="GROUP BY session")}

    def between(self, key: str, after: str, until: str, *, agent: str | None = None) -> Total:
        """The messages of a stretch of time, its end included; all of them, or one agent's."""
        sql, values = f"{_AGGREGATE} AND at > ? AND at <= ?", [key, after, until]
        if agent is not None:
            sql, values = f"{sql} AND agent = ?", [*values, agent]
        return _total(self._row(sql, *values) or ())

    def costs(self, key: str) -> list[tuple[str, float | None]]:
        """When each message of a session came, and its cost; None where no price is known."""
        rows: list[Any] = self.connection.execute(
            "SELECT at, cost FROM message WHERE session = ? AND at != '' ORDER BY at", (key,)
        ).fetchall()
        return [(at, cost) for at, cost in rows]

    def agents(self, key: str) -> list[str]:
        return self._column(
            "SELECT agent FROM message WHERE session = ? GROUP BY agent ORDER BY min(at)", key
        )

    def unpriced_models(self, key: str) -> list[str]:
        return self._column(
            "SELECT DISTINCT model FROM message WHERE session = ? AND cost IS NULL ORDER BY 1",
            key,
        )

    # Errors

    def note_error(self, key: str, id: str, said: str) -> None:
        """An error, once; the newest have the highest numbers."""
        self.connection.execute(
            "INSERT OR IGNORE INTO error SELECT ?, ?, ?, count(*) FROM error WHERE session = ?",
            (key, id, said, key),
        )

    def errors(self, key: str) -> int:
        row = self._row("SELECT count(*) FROM error WHERE session = ?", key)
        return int(row[0]) if row else 0

    def recent_errors(self, key: str, most: int) -> list[str]:
        newest = self._column(
            "SELECT said FROM error WHERE session = ? ORDER BY number DESC LIMIT ?", key, most
        )
        return newest[::-1]

    # Erasing

    def scrub_errors(self, said: str, mark: str) -> int:
        """Replace a secret in the errors; in how many of them it was."""
        self.connection.execute(
            "UPDATE error SET said = replace(said, ?, ?) WHERE instr(said, ?)", (said, mark, said)
        )
        return self.connection.changes()

    def forget_observed(self, key: str) -> None:
        """Drop what was observed of a session."""
        self._observed.pop(key, None)
        self.connection.execute("DELETE FROM observed WHERE session = ?", (key,))

    def rewrite(self, table: str, column: str, change: Callable[[Any], Any]) -> int:
        """Pass the JSON values of a column through a function; how many of them it changed."""
        self._observed.clear()
        rows: list[Any] = self.connection.execute(
            f"SELECT DISTINCT {column} FROM {table}"
        ).fetchall()
        changed = 0
        for (before,) in rows:
            after = canonical_json.dumps(change(canonical_json.loads(before)))
            if after != before:
                changed += 1
                self.connection.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (after, before)
                )
        return changed

    def compact(self) -> None:
        """Write file and log anew: until then both hold what was freed."""
        exhaust(self.connection, "VACUUM")
        exhaust(self.connection, "PRAGMA wal_checkpoint(TRUNCATE)")

    # Upkeep

    def has_prices_of(self, date: str) -> bool:
        row = self._row("SELECT value FROM meta WHERE key = 'prices'")
        return row is not None and row[0] == date

    def price_anew(self, date: str, price: Callable[[dict[str, Any]], float | None]) -> None:
        """With another price list, what was estimated by the last one is estimated again."""
        if self.has_prices_of(date):
            return
        fields = ("session", "id", *_MESSAGE)
        rows = self.connection.execute(
            f"SELECT {', '.join(fields)} FROM message WHERE own = 0 AND counted = 1"
        ).fetchall()
        for each in rows:
            told = dict(zip(fields, each, strict=True))
            self.connection.execute(
                "UPDATE message SET cost = ? WHERE session = ? AND id = ?",
                (price(told), told["session"], told["id"]),
            )
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('prices', ?)", (date,))

    def forget(self, now: int) -> None:
        """Leave out sessions that were not asked for in a month."""
        old = "SELECT key FROM session WHERE asked < ?"
        before = (now - FORGOTTEN_AFTER,)
        for table in ("source", "message", "error", "observed"):
            self.connection.execute(f"DELETE FROM {table} WHERE session IN ({old})", before)
        self.connection.execute("DELETE FROM session WHERE asked < ?", before)

    def _among(self, sql: str, keys: Sequence[str], *values: Any, then: str = "") -> list[Any]:
        marks = ", ".join("?" * len(keys))
        return self.connection.execute(f"{sql} IN ({marks}) {then}", (*values, *keys)).fetchall()

    def _column(self, sql: str, *values: Any) -> list[str]:
        rows: list[Any] = self.connection.execute(sql, values).fetchall()
        return [row[0] for row in rows]

    def _row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(sql, values).fetchone()
        return row


def _total(row: tuple[Any, ...]) -> Total:
    total: Any = dict(zip(SUMS, row, strict=True))
    total["cost"] = float(total["cost"])
    return total  # type: ignore[no-any-return]


def _id_of(key: str) -> str:
    return key.partition(":")[2]


def exhaust(connection: apsw.Connection, sql: str) -> None:
    """Run every statement of a text: one stops at its first row until that is fetched."""
    rows: Iterable[Any] = connection.execute(sql)
    for _ in rows:
        pass


def open_tally(home: str) -> Tally:
    """The workspace's tally; one in memory, for this look alone, where nothing can be written."""
    path = os.path.join(home, FILE)
    if os.path.isdir(home) and os.access(home, os.W_OK):
        for _ in range(2):
            try:
                return Tally(_connect(path))
            except (apsw.CorruptError, apsw.NotADBError):
                for suffix in ("", "-wal", "-shm"):
                    unlink_if_any(path + suffix)
            except apsw.Error:
                break
    return in_memory()


def in_memory() -> Tally:
    return Tally(_prepared(apsw.Connection(":memory:")))


def _connect(path: str) -> apsw.Connection:
    for ending in DATABASE_FILES:
        if os.path.exists(path + ending) and not os.path.isfile(path + ending):
            raise apsw.CantOpenError(path)  # SQLite would wait for a pipe for ever
    connection = apsw.Connection(path)
    try:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        exhaust(connection, "PRAGMA journal_mode = WAL")
        # A lost commit costs a second look at a transcript, so no sync for each.
        exhaust(connection, "PRAGMA synchronous = NORMAL")
        return _prepared(connection)
    except BaseException:
        connection.close()
        raise


def _prepared(connection: apsw.Connection) -> apsw.Connection:
    row: Any = connection.execute("PRAGMA user_version").fetchone()
    if row[0] == FORMAT:
        return connection
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have made it while we waited.
        row = connection.execute("PRAGMA user_version").fetchone()
        if row[0] == FORMAT - 1:
            exhaust(connection, f"DROP TABLE total; PRAGMA user_version = {FORMAT}")
        elif row[0] != FORMAT:
            names: Any = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
            for (name,) in names:
                connection.execute(f"DROP TABLE {name}")
            exhaust(connection, SCHEMA)
    finally:
        connection.execute("COMMIT")
    return connection
