"""Where the tally is kept: opened, made, or made again when it is damaged."""

from __future__ import annotations

import os

import apsw

from holdfast.clients.usage.tally import FORMAT, SCHEMA, Tally, exhaust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "usage.db"
BUSY_MILLISECONDS = 5000


def open_tally(home: str) -> Tally:
    """The workspace's tally; one in memory, for this look alone, where nothing can be written."""
    path = os.path.join(home, FILE)
    if os.path.isdir(home) and os.access(home, os.W_OK):
        for _ in range(2):
            try:
                return Tally(_connect(path))
            except (apsw.CorruptError, apsw.NotADBError):
                _remove(path)
            except apsw.Error:
                break
    return in_memory()


def in_memory() -> Tally:
    return Tally(_prepared(apsw.Connection(":memory:")))


def _connect(path: str) -> apsw.Connection:
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
        if row[0] != FORMAT:
            names: Any = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
            for (name,) in names:
                connection.execute(f"DROP TABLE {name}")
            exhaust(connection, SCHEMA)
    finally:
        connection.execute("COMMIT")
    return connection


def _remove(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(path + suffix)
        except FileNotFoundError:
            pass
