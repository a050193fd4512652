"""Copy threads from the databases of LangGraph's own savers. Values are copied as bytes: no class that they name is
imported. What is there already is left alone, so a copy that was interrupted is finished by the next one."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw
import ormsgpack

from holdfast.contrib.langgraph.store import Checkpoint, Threads, Typed, Write, stream_of
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace

# The newest format of a checkpoint that is known.
NEWEST = 4
CHECKPOINTS = (
    "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
)
WRITES = "thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type"
NOT_A_SAVER = "is not a database of LangGraph's savers"


class Row(NamedTuple):
    """A checkpoint of another store: the type and bytes of the whole, or of its values by themselves."""

    thread: str
    namespace: str
    id: str
    parent: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    values: Mapping[str, Typed]


@dataclass
class Copied:
    """How many threads and checkpoints a database has, and how many of them were copied now."""

    threads: int = 0
    checkpoints: int = 0
    copied: int = 0


def copy_threads(workspace: Workspace, source: str, *, dry_run: bool, actor: str) -> Copied:
    """Copy the threads of a saver's database: a SQLite file, or the URL of a PostgreSQL database."""
    threads, found, seen = Threads(open_writer(workspace), actor), Copied(), set()
    is_server = source.startswith(("postgresql://", "postgres://"))
    with (_open_server if is_server else _open_file)(source) as (rows, read_writes):
        for row in rows:
            stream = stream_of(row.thread)
            seen.add(stream)
            found.checkpoints += 1
            if workspace.exists() and threads.find(stream, row.namespace, row.id) is not None:
                continue
            found.copied += 1
            if not dry_run:
                # The writes first: a checkpoint that is there has been copied with all that belongs to it.
                writes = read_writes(row)
                if writes and not (
                    workspace.exists() and threads.read_writes(stream, row.namespace, row.id)
                ):
                    threads.put_writes(stream, row.namespace, row.id, writes, replace=False)
                threads.put(stream, _checkpoint_of(row))
    found.threads = len(seen)
    return found


def _checkpoint_of(row: Row) -> Checkpoint:
    version = row.checkpoint.get("v", 1)
    if version > NEWEST:
        raise HoldfastError(
            f"Checkpoint {row.id} of the thread {row.thread} has the format {version}; this Holdfast knows {NEWEST}.",
            hint="Install a newer Holdfast. What was copied before it stays.",
            kind="newer_format",
        )
    return Checkpoint(
        namespace=row.namespace,
        id=row.id,
        parent=row.parent,
        step=row.metadata.get("step"),
        source=str(row.metadata.get("source", "")),
        run=str(row.metadata.get("run_id", "")),
        checkpoint=_pack({**row.checkpoint, "channel_values": {}}),
        metadata=_pack(row.metadata),
        values=row.values,
        versions=row.checkpoint.get("channel_versions", {}),
    )


def _pack(value: Any) -> Typed:
    if value is None:
        return "null", b""
    if isinstance(value, bytes):
        return "bytes", value
    return "msgpack", ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)


def _unpack(type: str, data: bytes, what: str) -> Any:
    """Return a value in which the objects of classes stay packed."""
    if type != "msgpack":
        raise Usage(
            f"{what} is stored as {type!r}, which cannot be copied.",
            hint="Open it with the program that wrote it, and copy it with graph.update_state.",
        )
    return ormsgpack.unpackb(data, ext_hook=ormsgpack.Ext, option=ormsgpack.OPT_NON_STR_KEYS)


def _write_of(found: Any) -> Write:
    task, path, index, channel, type, data = found
    return Write(task, path, index, channel, (type or "null", bytes(data or b"")))


@contextlib.contextmanager
def _open_file(path: str) -> Iterator[Any]:
    if not os.path.isfile(path):
        raise NotFound(f"There is no file {path}.")
    connection = apsw.Connection(os.path.abspath(path), apsw.SQLITE_OPEN_READONLY)
    try:
        try:
            _refuse_made_up(connection)
            rows = connection.execute(
                f"SELECT {CHECKPOINTS} FROM checkpoints ORDER BY thread_id, checkpoint_id"
            )
            connection.execute(f"SELECT {WRITES}, value FROM writes LIMIT 0").fetchall()
            columns = connection.execute("SELECT name FROM pragma_table_info('writes')").fetchall()
        except (apsw.SQLError, apsw.NotADBError) as error:
            raise Usage(
                f"{path} {NOT_A_SAVER}: {error}.", hint="Nothing was copied.", kind="not_a_saver"
            ) from None
        task_path = "task_path" if ("task_path",) in columns else "''"

        def read_writes(row: Row) -> list[Write]:
            found: Any = connection.execute(
                f"SELECT task_id, {task_path}, idx, channel, type, value FROM writes"
                " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                (row.thread, row.namespace, row.id),
            )
            return [_write_of(one) for one in found]

        yield map(_row_of_file, rows), read_writes
    finally:
        connection.close()


def _refuse_made_up(connection: apsw.Connection) -> None:
    """Refuse views and tables of a program's own, whose rows may never end; the file may be anyone's."""
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    for name in ("checkpoints", "writes"):
        made = connection.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)
        ).fetchall()
        if not made or not str(made[0][0]).upper().startswith("CREATE TABLE"):
            raise apsw.SQLError(f"it has no table {name}")


def _row_of_file(row: Any) -> Row:
    thread, namespace, id, parent, type, data, metadata = row
    try:
        checkpoint = _unpack(type, data, f"Checkpoint {id} of the thread {thread}")
        values = {channel: _pack(value) for channel, value in checkpoint["channel_values"].items()}
        said = json.loads(metadata or b"{}")
        if not isinstance(said, dict) or not isinstance(checkpoint.get("v", 1), int):
            raise ValueError("its metadata have another form")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Usage(
            f"Checkpoint {id!s:.100} of the thread {thread!s:.100} cannot be read: {error}.",
            hint="What was copied before it stays.",
            kind="not_a_saver",
        ) from None
    return Row(str(thread), str(namespace), str(id), parent, checkpoint, said, values)


@contextlib.contextmanager
def _open_server(url: str) -> Iterator[Any]:
    import psycopg

    try:
        connection = psycopg.connect(url, autocommit=True)
    except psycopg.Error as error:
        raise NotFound(f"The server does not answer: {error}.") from None
    with connection:
        try:
            rows = connection.execute(
                f"SELECT {CHECKPOINTS} FROM checkpoints ORDER BY thread_id, checkpoint_id"
            )
            connection.execute(f"SELECT {WRITES}, blob FROM checkpoint_writes LIMIT 0")
        except psycopg.Error as error:
            raise Usage(
                f"The database {NOT_A_SAVER}: {error}.",
                hint="Nothing was copied.",
                kind="not_a_saver",
            ) from None
        paths = connection.execute(
            "SELECT 1 FROM information_schema.columns WHERE table_name = 'checkpoint_writes' AND column_name = 'task_path'"
        ).fetchone()

        def read_values(
            thread: str, namespace: str, checkpoint: dict[str, Any]
        ) -> dict[str, Typed]:
            plain = checkpoint.get("channel_values") or {}
            values = {name: _pack(value) for name, value in plain.items()}
            versions = checkpoint.get("channel_versions", {})
            for channel, version, type, data in connection.execute(
                "SELECT channel, version, type, blob FROM checkpoint_blobs"
                " WHERE thread_id = %s AND checkpoint_ns = %s AND version = ANY(%s)",
                (thread, namespace, [str(one) for one in versions.values()]),
            ):
                if type != "empty" and str(versions.get(channel)) == version:
                    values[channel] = (type, bytes(data or b""))
            return values

        def read_writes(row: Row) -> list[Write]:
            found = connection.execute(
                f"SELECT task_id, {'task_path' if paths else chr(39) * 2}, idx, channel, type, blob FROM checkpoint_writes"
                " WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s",
                (row.thread, row.namespace, row.id),
            )
            return [_write_of(one) for one in found]

        def read_row(found: Any) -> Row:
            thread, namespace, id, parent, _, checkpoint, metadata = found
            values = read_values(thread, namespace, checkpoint)
            return Row(thread, namespace, id, parent, checkpoint, metadata, values)

        yield map(read_row, rows.fetchall()), read_writes
