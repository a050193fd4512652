"""The index: one SQLite file in the user's data folder, with the words and the texts of all sessions.

It is made again from the transcripts and the archive whenever it is lost or damaged. A document's number says which
session it is of, so that sessions are counted without a join. The two tables of words hold no text: `document` does,
compressed, for the lines that a hit shows.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar
from zlib import compress, decompress

import apsw

from holdfast.clients.launcher import folder_of_user
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.text import quote, split_words
from holdfast.memory.documents import Packer, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from holdfast.clients.transcripts import ReadProgress

Value = TypeVar("Value")

FORMAT = 1
FOLDER, FILE, LOCK = "memory", "index.db", "index.lock"
BUSY_MILLISECONDS = 5000
# A document's number is its session's, shifted by so many bits, and its place in the session.
SHIFT = 16
_TOKENS = "content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'"
SCHEMA = f"""
CREATE TABLE session(id INTEGER PRIMARY KEY, client TEXT, session TEXT, path TEXT, cwd TEXT, branch TEXT,
    request TEXT, began TEXT, ended TEXT, edits INTEGER, modified INTEGER, size INTEGER, skipped INTEGER,
    progress TEXT, problem TEXT, UNIQUE (client, session));
CREATE TABLE document(id INTEGER PRIMARY KEY, pieces BLOB);
CREATE TABLE file(session INTEGER, path TEXT, edits INTEGER, last TEXT, PRIMARY KEY (session, path)) WITHOUT ROWID;
CREATE INDEX file_path ON file(path);
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE VIRTUAL TABLE core USING fts5(words, {_TOKENS});
CREATE VIRTUAL TABLE talk USING fts5(words, {_TOKENS});
PRAGMA user_version = {FORMAT};
"""
COLUMNS = split_words(
    "id client session path cwd branch request began ended edits modified size skipped problem"
)


class IndexedSession(TypedDict):
    """A session as the index knows it. `began` and `ended` are the times of its first and last event, `skipped`
    the lines that no reader knows, `problem` why it could not be read."""

    id: int
    client: str
    session: str
    path: str
    cwd: str
    branch: str
    request: str
    began: str
    ended: str
    edits: int
    modified: int
    size: int
    skipped: int
    problem: str


class Index:
    """An open index. `is_private` says that it is in memory and ends with this process."""

    def __init__(self, connection: apsw.Connection, *, is_private: bool = False) -> None:
        self.connection = connection
        self.is_private = is_private
        self._take_places: Callable[..., None]

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a question."""
        return self.connection.execute(sql, values).fetchall()

    def read_places(self, take: Callable[..., None]) -> None:
        """Let the SQL function `places` pass each row's words to `take`. FTS5 gets one function for the connection:
        a statement that is prepared keeps the one that it began with."""
        if not hasattr(self, "_take_places"):
            self.connection.register_fts5_function("places", self._pass_places)
        self._take_places = take

    def _pass_places(self, *row: Any) -> None:
        self._take_places(*row)

    def meta(self, key: str) -> str:
        """Return what is kept under a key; empty where nothing is."""
        rows = self.ask("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0][0]) if rows else ""

    def keep_meta(self, key: str, value: str) -> None:
        self.ask("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def sessions(self, where: str = "", *values: Any) -> list[IndexedSession]:
        """Return sessions with what is known of each; `where` is SQL."""
        rows = self.ask(f"SELECT {', '.join(COLUMNS)} FROM session {where}", *values)
        return [dict(zip(COLUMNS, row, strict=True)) for row in rows]  # type: ignore[misc]

    def progress(self, id: int) -> ReadProgress | None:
        """Return how far a session's transcript was read."""
        rows = self.ask("SELECT progress FROM session WHERE id = ?", id)
        found: ReadProgress | None = (
            canonical_json.loads(rows[0][0]) if rows and rows[0][0] else None
        )
        return found

    def pieces(self, first: int, last: int) -> Iterator[tuple[int, list[Piece]]]:
        """Return the pieces of the documents in a range of numbers."""
        sql = "SELECT id, pieces FROM document WHERE id BETWEEN ? AND ? ORDER BY id"
        for id, stored in self.ask(sql, first, last):
            parts = canonical_json.loads(decompress(stored).decode())
            yield id, [Piece(what, path, text, is_talk) for what, path, text, is_talk in parts]

    def pieces_of(self, session: int) -> list[Piece]:
        """Return all pieces of a session, in order."""
        return [one for _, parts in self.pieces(*span(session)) for one in parts]

    def write_session(self, client: str, session: str, values: dict[str, Any]) -> int:
        """Add a session, or change what is known of it; its number."""
        names = ["client", "session", *values]
        update = ", ".join(f"{name} = excluded.{name}" for name in values)
        sql = (
            f"INSERT INTO session({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
            f"ON CONFLICT(client, session) DO UPDATE SET {update} RETURNING id"
        )
        return int(self.ask(sql, client, session, *values.values())[0][0])

    def write_documents(self, session: int, pieces: Sequence[Piece]) -> None:
        """Put a session's documents in the place of those that it had."""
        first, last = span(session)
        for table in ("core", "talk"):
            self.ask(f"DELETE FROM {table} WHERE rowid BETWEEN ? AND ?", first, last)
        self.ask("DELETE FROM document WHERE id BETWEEN ? AND ?", first, last)
        core, talk = Packer("core"), Packer("talk")
        for piece in pieces:
            core.add(piece)
            if piece.is_talk:
                talk.add(piece)
        most = last - first
        for number, document in enumerate(core.documents[-most:], first):
            self.ask(
                "INSERT INTO core(rowid, words) VALUES (?, ?)", number, " ".join(document.words)
            )
            parts = [(one.what, one.path, one.text, one.is_talk) for one in document.pieces]
            stored = compress(canonical_json.dumps(parts).encode(), 6)
            self.ask("INSERT INTO document VALUES (?, ?)", number, stored)
        for number, document in enumerate(talk.documents[-most:], first):
            self.ask(
                "INSERT INTO talk(rowid, words) VALUES (?, ?)", number, " ".join(document.words)
            )

    def add_files(self, session: int, edits: Iterable[tuple[str, str]]) -> None:
        """Count edits of files: each with its path and its time."""
        sql = (
            "INSERT INTO file VALUES (?, ?, 1, ?) ON CONFLICT DO UPDATE SET edits = edits + 1, "
            "last = max(last, excluded.last)"
        )
        for path, at in edits:
            self.ask(sql, session, path, at)

    def note_files(self, session: int, edits: Iterable[tuple[str, str]]) -> None:
        """Know of files that a session's subagents edited, which are read as a whole each time."""
        for path, at in edits:
            self.ask("INSERT OR IGNORE INTO file VALUES (?, ?, 1, ?)", session, path, at)

    def files(self, session: int) -> list[tuple[str, int, str]]:
        """Return the files that a session edited: path, number of edits, time of the last."""
        sql = "SELECT path, edits, last FROM file WHERE session = ? ORDER BY edits DESC, path"
        return self.ask(sql, session)

    def remove(self, session: int) -> None:
        """Forget a session."""
        self.write_documents(session, ())
        self.ask("DELETE FROM file WHERE session = ?", session)
        self.ask("DELETE FROM session WHERE id = ?", session)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write together what is written inside, or nothing of it."""
        self.connection.execute("BEGIN IMMEDIATE")
        is_done = False
        try:
            yield
            is_done = True
        finally:
            if self.connection.in_transaction:
                self.connection.execute("COMMIT" if is_done else "ROLLBACK")


def span(session: int) -> tuple[int, int]:
    """Return the first and the last number that a session's documents can have."""
    return session << SHIFT, ((session + 1) << SHIFT) - 1


def folder() -> str:
    """Return the folder of the index and the archive."""
    return os.path.join(folder_of_user(), FOLDER)


def path() -> str:
    return os.path.join(folder(), FILE)


def make_folder() -> bool:
    """Make the folder, for its user alone. Return whether it can be written to."""
    try:
        os.makedirs(folder(), 0o700, exist_ok=True)
    except OSError:
        return False
    return os.access(folder(), os.W_OK)


def open_index() -> Index:
    """Open the index; one in memory where nothing can be written. A damaged one is made again."""
    if make_folder():
        for _ in range(2):
            try:
                return Index(open_database(path(), SCHEMA, FORMAT))
            except (apsw.CorruptError, apsw.NotADBError):
                remove(path())
            except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.FullError):
                break
    return Index(prepare(apsw.Connection(":memory:"), SCHEMA, FORMAT), is_private=True)


def use_index(work: Callable[[Index], Value]) -> Value:
    """Do something with the index. A damaged one is made again, once: it holds nothing that the transcripts and what
    is kept of them do not."""
    for attempt in (1, 2):
        try:
            with open_index() as index:
                return work(index)
        except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as damage:
            if attempt == 2:
                raise HoldfastError(
                    f"The index {path()} is damaged and could not be made again: {damage}.",
                    hint=f"Remove it, and ask once more: rm {quote(path())}*",
                    kind="index_damaged",
                ) from damage
            remove(path())
        except (apsw.BusyError, apsw.LockedError) as busy:
            raise StoreAway(
                "Another process holds the index.", hint="Try again in a moment.", kind="index_busy"
            ) from busy
    raise AssertionError("one of two attempts returns or raises")


def open_known() -> Index | None:
    """Open the index only where there is one, to look something up. None where it cannot be read."""
    if not os.path.isfile(path()):
        return None
    connection = None
    try:
        connection = apsw.Connection(path())
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        if connection.execute("PRAGMA user_version").fetchone() == (FORMAT,):
            return Index(connection)
    except apsw.Error:
        pass
    if connection is not None:
        connection.close()
    return None


def open_database(name: str, schema: str, format: int) -> apsw.Connection:
    """Open a database of this user's alone, and make what it needs."""
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)
    connection = apsw.Connection(name)
    try:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        # What a power cut loses is read again.
        connection.execute("PRAGMA synchronous = NORMAL").fetchall()
        connection.execute("PRAGMA secure_delete = ON").fetchall()
        return prepare(connection, schema, format)
    except BaseException:
        connection.close()
        raise


def prepare(connection: apsw.Connection, schema: str, format: int) -> apsw.Connection:
    """Make the tables where they are missing, or are another version's."""
    if connection.execute("PRAGMA user_version").fetchone() == (format,):
        return connection
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have made them while we waited.
        if connection.execute("PRAGMA user_version").fetchone() != (format,):
            names: Any = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE %TABLE%' "
                "ORDER BY sql NOT LIKE 'CREATE VIRTUAL%'"
            ).fetchall()
            for (name,) in names:
                connection.execute(f'DROP TABLE IF EXISTS "{name}"')
            connection.execute(schema).fetchall()
    finally:
        connection.execute("COMMIT")
    return connection


def remove(name: str) -> None:
    """Remove a database with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(name + suffix)
        except FileNotFoundError:
            pass


@contextmanager
def only_indexer() -> Iterator[bool]:
    """Be the only process that brings the index up to date. False where another one does."""
    try:
        lock = os.open(
            os.path.join(folder(), LOCK),
            os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o600,
        )
    except OSError:
        yield True
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    except OSError:
        is_ours = False
    try:
        yield is_ours
    finally:
        os.close(lock)
