"""Numbered migrations: `NNNN_name.sql`, each in one transaction, never changed once released. A new file is
made of all of them at once."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from holdfast.journal.chain import seal_snapshot
from holdfast.journal.sqlite_rows import BUSY_SECONDS

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
# What a reader without the right to write sees of the snapshots of a file of format 1 or 2.
_SEALED_SNAPSHOTS = """
CREATE TEMP VIEW snapshots AS SELECT n.stream, n.version, n.state, seal_snapshot(s.name, n.version, coalesce(
    (SELECT hash FROM records r WHERE r.stream = s.number AND r.version = n.version),
    (SELECT hash FROM recent t WHERE t.stream = s.number AND t.version = n.version),
    iif(s.anchor_version = n.version, s.anchor_hash, x'')), n.state) AS digest
FROM main.snapshots n JOIN main.streams s ON s.number = n.stream
"""


def make(path: str, target: int, application_id: int, rows: Mapping[str, str]) -> None:
    """Write a new journal that holds nothing but these rows of `meta`, synced. `path` is not its place yet:
    a journal that is moved there is whole, so no kill leaves half of one."""
    remove_database(path)
    connection = apsw.Connection(path)
    try:
        connection.execute("PRAGMA page_size = 8192").fetchall()
        _define_functions(connection)
        # Nothing is to be rolled back: who finds this file unfinished begins anew.
        connection.execute("PRAGMA journal_mode = OFF").fetchall()
        connection.execute("PRAGMA synchronous = FULL").fetchall()
        connection.execute("BEGIN IMMEDIATE")
        for name in sorted(os.listdir(FOLDER)):
            if int(name.split("_")[0]) <= target:
                with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                    for _ in connection.execute(file.read()):
                        pass
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())
        connection.execute(f"PRAGMA application_id = {application_id}").fetchall()
        connection.execute(f"PRAGMA user_version = {target}").fetchall()
        connection.execute("COMMIT")
        _switch_to_wal(connection)
    finally:
        connection.close()


LOGS = ("-journal", "-wal", "-shm")


def remove_database(path: str, parts: Sequence[str] = ("", *LOGS)) -> None:
    """Remove a file and its logs. A log that stays would be replayed into the next file of that name."""
    for suffix in parts:
        try:
            os.unlink(path + suffix)
        except FileNotFoundError:
            continue


def migrate(connection: apsw.Connection, target: int, application_id: int) -> None:
    """Bring the file from whatever format it has to `target`; safe when two try at once."""
    # Two records of 2 KB do not fit a page of 4 KB, four fit one of 8 KB. Only a new file takes it.
    connection.execute("PRAGMA page_size = 8192").fetchall()
    _switch_to_wal(connection)
    _define_functions(connection)
    for name in sorted(os.listdir(FOLDER)):
        number = int(name.split("_")[0])
        if number > target:
            break
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            script = file.read()
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Read again under the write lock: another process may have been here meanwhile.
            (current,) = connection.execute("PRAGMA user_version").fetchone() or (0,)
            if current < number:
                for _ in connection.execute(script):
                    pass
                connection.execute(f"PRAGMA application_id = {application_id}").fetchall()
                connection.execute(f"PRAGMA user_version = {number}").fetchall()
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _define_functions(connection: apsw.Connection) -> None:
    """Let the scripts call what they need of ours."""
    function: Any = seal_snapshot
    connection.create_scalar_function("seal_snapshot", function, 4)


def _switch_to_wal(connection: apsw.Connection) -> None:
    """The pragma does not wait for another process that is making the same file, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def stand_in(connection: apsw.Connection, version: int) -> None:
    """Let a reader who cannot migrate an older file read it: what the file lacks is empty for it."""
    connection.execute("PRAGMA temp_store = MEMORY").fetchall()
    for name in sorted(os.listdir(FOLDER)):
        if int(name.split("_")[0]) > version:
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                script = file.read().replace("CREATE TABLE", "CREATE TEMP TABLE")
            if "ALTER TABLE snapshots" in script:
                _define_functions(connection)
                script = _SEALED_SNAPSHOTS
            for _ in connection.execute(script):
                pass
