"""Save what can be read of a damaged SQLite journal into a new one.

The damaged file is only read. A stream whose chain is whole is copied as it is. Where records are
missing, the rest of the stream gets a new chain: the old one cannot verify any more.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import apsw

from holdfast.journal.chain import ORIGIN, fits_seal, refuse_breaks, seal
from holdfast.journal.interface import typed
from holdfast.journal.migrate import remove_database
from holdfast.journal.sqlite import SqliteJournal
from holdfast.journal.sqlite_rows import RECENT, TABLES, reseal_snapshot
from holdfast.journal.upkeep import SIDE_ROWS
from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest, new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import strange_beside

Row = tuple[Any, ...]


class LostRecords(TypedDict):
    """What a stream has lost. `bodies` are records whose text is unreadable. `has_new_chain` says that its
    records did not fit their chain."""

    stream: str
    records: int
    bodies: int
    has_new_chain: bool


class Salvaged(TypedDict):
    """What was saved, and what was not. `rows` are those beside the records that could not be read; `aside`
    is the damaged file."""

    records: int
    streams: int
    lost: list[LostRecords]
    rows: int
    aside: str


STREAM = "number, name, version, hash, fence, seen_at, closed_at, anchor_version, anchor_hash"
RECORD = "seq, id, stream, version, at, actor, fence, kind, salt, body, body_hash, hash"
# Tables without a chain, each with its primary key.
PLAIN = {"meta": "key", "views": "worktree, path", "outbox": "id", "refused": "id"}
# Fences that were given and are forgotten: the next one is surely larger.
FENCES_AHEAD = 1_000
# A gap in the numbers of a table that is longer than this is not looked through one by one.
LONGEST_GAP = 200_000
PAGE = 8192


def salvage(
    damaged: str,
    target: str,
    can_fold: Callable[[str, Any, list[Any]], bool],
    has_everything: Callable[[list[Any]], bool],
) -> Salvaged:
    """Write what can be read of the damaged journal to a new file. `can_fold` says whether the rules
    of a stream can make a state of a snapshot and the records after it, `has_everything` whether the records
    of a stream suffice without one."""
    source = _open_damaged(damaged) or _open_with_new_first_page(damaged, target)
    journal = SqliteJournal(target)
    done: Salvaged = {"records": 0, "streams": 0, "lost": [], "rows": 0, "aside": ""}
    streams = _streams(source)
    records: dict[int, list[Row]] = {}
    known: set[Any] = set()
    for table in TABLES:
        for row in _by_number(source, table, RECORD, "seq"):
            # A page that is in two places holds the same records twice.
            if _is_record(row) and not known.intersection(row[:2]):
                known.update(row[:2])
                records.setdefault(row[2], []).append(row)
                _advance(streams, row, table)
    snapshots = {row[0]: row for row in _by_number(source, "snapshots", "*", "stream")}
    with journal.transaction() as connection:
        for number in sorted({*streams, *records}):
            stream = streams.get(number) or _unknown_stream(source, number)
            kept = sorted(records.get(number, []), key=lambda row: row[3])
            lost = _store(connection, stream, kept, snapshots.get(number), can_fold, has_everything)
            done["streams"] += 1
            done["records"] += len(kept)
            if lost["records"] or lost["bodies"] or lost["has_new_chain"]:
                done["lost"].append(lost)
        for table, key in PLAIN.items():
            unreadable = set()
            for row in _by_key(source, table, key):
                if not _is_side_row(table, row):
                    unreadable.add(row)
                    continue
                marks = ",".join("?" * len(row))
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
            done["rows"] += len(unreadable)
        _raise_fence(connection)
    journal.compact(always=True)
    journal.close()
    if source is not None:
        source.close()
    _remove_copies(target)
    return done


def _open_damaged(path: str) -> apsw.Connection | None:
    """A connection that reads; None when not even the first page is one of SQLite."""
    if strange_beside(path):
        return None
    for flags in (apsw.SQLITE_OPEN_READWRITE, apsw.SQLITE_OPEN_READONLY):
        try:
            connection = apsw.Connection(path, flags=flags)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.execute("PRAGMA query_only = ON").fetchall()
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            return connection
        except apsw.Error:
            continue
    return None


def _open_with_new_first_page(damaged: str, target: str) -> apsw.Connection | None:
    """The first page says where each table begins. A new journal has them in the same places, and a
    compacted one has its own order: take the first page of whichever finds more."""
    best: apsw.Connection | None = None
    most = 0
    for is_compacted in (False, True):
        copy = f"{target}.copy-{int(is_compacted)}"
        _copy_with_first_page(damaged, copy, _first_page(f"{target}.new", is_compacted))
        source = _open_damaged(copy)
        found = sum(_is_record(row) for row in _by_number(source, "records", RECORD, "seq"))
        if found > most:
            best, most = source, found
    return best


def _first_page(path: str, is_compacted: bool) -> bytes:
    new = SqliteJournal(path)
    if is_compacted:
        new.compact(always=True)
    new.connection().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    new.close()
    with open(path, "rb") as file:
        page = file.read(PAGE)
    remove_database(path)
    return page


def _copy_with_first_page(damaged: str, copy: str, page: bytes) -> None:
    shutil.copyfile(damaged, copy)
    if os.path.exists(f"{damaged}-wal"):
        shutil.copyfile(f"{damaged}-wal", f"{copy}-wal")
    with open(copy, "r+b") as file:
        pages = max(1, os.stat(copy).st_size // PAGE)
        # Bytes 28 to 31 of the header are the size of the database in pages.
        file.write(page[:28] + pages.to_bytes(4, "big") + page[32:])


def remove_leftovers(target: str) -> None:
    """Remove what a salvage that was killed has left of its result."""
    remove_database(target)
    _remove_copies(target)


def _remove_copies(target: str) -> None:
    folder, name = os.path.split(target)
    for other in os.listdir(folder):
        if other.startswith((f"{name}.copy-", f"{name}.new")):
            os.unlink(os.path.join(folder, other))


def _rows(source: apsw.Connection | None, sql: str, values: Row = ()) -> Iterator[Row]:
    """The rows up to the first damaged page."""
    if source is None:
        return
    try:
        yield from source.execute(sql, values)
    except (apsw.Error, UnicodeDecodeError):
        return


def _by_number(source: apsw.Connection | None, table: str, fields: str, key: str) -> Iterator[Row]:
    """The rows of a table with numbers: from the front, from the back, and one by one between."""
    last, first = 0, None
    for row in _rows(source, f"SELECT {key}, {fields} FROM {table} ORDER BY {key}"):
        last = row[0]
        yield row[1:]
    for row in _rows(
        source, f"SELECT {key}, {fields} FROM {table} WHERE {key} > ? ORDER BY {key} DESC", (last,)
    ):
        first = row[0]
        yield row[1:]
    if first is None:
        # The back is damaged too: the indexes may still know the largest number.
        known = _largest(source, table, key)
        first = known + 1 if known else last
    for number in range(last + 1, min(first, last + LONGEST_GAP)):
        yield from _rows(source, f"SELECT {fields} FROM {table} WHERE {key} = ?", (number,))


def _largest(source: apsw.Connection | None, table: str, key: str) -> int:
    found = [
        row[0]
        for index in (f"sqlite_autoindex_{table}_1", f"sqlite_autoindex_{table}_2")
        for row in _rows(source, f"SELECT {key} FROM {table} INDEXED BY {index}")
    ]
    return max((number for number in found if isinstance(number, int)), default=0)


def _by_key(source: apsw.Connection | None, table: str, key: str) -> Iterator[Row]:
    """The rows of a table that is kept in the order of its key: from the front and from the back."""
    backwards = ", ".join(f"{part} DESC" for part in key.split(", "))
    yield from _rows(source, f"SELECT * FROM {table} ORDER BY {key}")
    yield from _rows(source, f"SELECT * FROM {table} ORDER BY {backwards}")


def _streams(source: apsw.Connection | None) -> dict[int, Row]:
    found: dict[int, Row] = {}
    names: set[str] = set()
    for row in _by_number(source, "streams", STREAM, "number"):
        number, name = row[:2]
        if isinstance(name, str) and number not in found:
            if name in names:
                name = f"note:salvaged-{number}"
            names.add(name)
            has_ends = _has_types(row[2:], "nbntTnb")
            found[number] = (number, name, *row[2:]) if has_ends else _new_stream(number, name)
    return found


def _has_types(values: Row, types: str) -> bool:
    try:
        typed("", types, types, values)
    except ValueError:
        return False
    return True


def _new_stream(number: int, name: str) -> Row:
    return (number, name, 0, b"", 0, "", None, 0, ORIGIN)


def _advance(streams: dict[int, Row], row: Row, table: str) -> None:
    """A stream's newest records are not in its own row yet."""
    stream = streams.get(row[2])
    if table == RECENT and stream is not None and row[3] > stream[2]:
        streams[row[2]] = (*stream[:2], row[3], row[11], *stream[4:])


def _unknown_stream(source: apsw.Connection | None, number: int) -> Row:
    """A stream whose own row is lost: the index of the names may still know it."""
    names = _rows(source, "SELECT name, number FROM streams INDEXED BY sqlite_autoindex_streams_1")
    name = next((name for name, of in names if of == number), f"note:salvaged-{number}")
    return _new_stream(number, name)


def _is_record(row: Row) -> bool:
    return _has_types((*row[:8], *row[10:]), "ntnnttNtbb")


def _is_side_row(table: str, row: Row) -> bool:
    """Return whether a row of a table beside the records can be read."""
    try:
        SIDE_ROWS[table][1](row[1:] if table == "meta" else row)
    except (TypeError, ValueError):
        return False
    return True


def _body(row: Row) -> Any:
    """The body of a record; raises when it is not what was hashed."""
    salt, text, body_hash = row[8:11]
    if text is None:
        return None
    if digest(salt or b"", text.encode()) != body_hash:
        raise ValueError("not the text that was hashed")
    return canonical_json.loads(text)


def _store(
    connection: apsw.Connection,
    stream: Row,
    records: list[Row],
    snapshot: Row | None,
    can_fold: Callable[[str, Any, list[Any]], bool],
    has_everything: Callable[[list[Any]], bool],
) -> LostRecords:
    """Write one stream, with its old chain if that is whole, else with a new one."""
    number, name, version, head, fence, seen_at, closed_at, anchor, anchor_hash = stream
    if not can_fold(name, None, []):
        name = f"note:salvaged-{number}"  # no kind of stream: its name was changed
    bodies, clean = 0, []
    for row in records:
        try:
            _body(row)
            clean.append(row)
        except (ValueError, TypeError, AttributeError):
            bodies += 1
            clean.append((*row[:8], None, None, *row[10:]))
    records = clean
    is_whole = _is_whole(name, records, version, head, anchor, anchor_hash)
    newest = max([version, *(row[3] for row in records)])
    missing = newest - anchor - len(records)
    if snapshot is not None and not _fits(name, snapshot, records, anchor, anchor_hash):
        if is_whole and anchor == 0 and has_everything([_event(name, row) for row in records]):
            snapshot = None  # the state is made of the records
        else:
            bodies += 1
    # The version in the new chain of each old one.
    versions = {row[3]: row[3] if is_whole else at + 1 for at, row in enumerate(records)}
    previous: bytes = anchor_hash
    if not is_whole:
        anchor, previous, anchor_hash, version = 0, ORIGIN, ORIGIN, len(records)
        records, head = _sealed_anew(name, records)
    state = _snapshot_state(snapshot)
    if state is not None and snapshot is not None and not is_whole:
        below = [new for old, new in versions.items() if old <= snapshot[1]]
        snapshot = (number, max(below, default=0), snapshot[2])
    has_new_chain = not is_whole and bool(records)
    start = snapshot[1] if snapshot is not None and state is not None else 0
    after = [_event(name, row) for row in records if row[3] > start]
    refused: list[Row] = []
    if not can_fold(name, state, after):
        counts = range(len(after), -1, -1)
        good = next((count for count in counts if can_fold(name, state, after[:count])), 0)
        kept = len(records) - len(after) + good
        records, refused = records[:kept], records[kept:]
        version = records[-1][3] if records else start
        head = records[-1][11] if records else anchor_hash
    held = [fence, *(row[6] or 0 for row in records)]
    seen = max([seen_at or "", *(row[4] for row in records)])
    connection.execute(
        f"INSERT INTO streams ({STREAM}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (number, name, version, head or previous, max(held), seen, closed_at, anchor, anchor_hash),
    )
    for row in records:
        marks = ",".join("?" * len(row))
        connection.execute(f"INSERT INTO records ({RECORD}) VALUES ({marks})", row)
    if state is not None and snapshot is not None and snapshot[1] <= version:
        connection.execute("INSERT INTO snapshots VALUES (?, ?, ?, NULL)", snapshot[:3])
        reseal_snapshot(connection, number)
    if refused:
        drafts = canonical_json.dumps([_event(name, row) for row in refused])
        reason = "salvaged from a damaged journal: a record before it is lost"
        values = (new_id(), name, refused[0][4], refused[0][5], None, reason, drafts)
        connection.execute("INSERT INTO refused VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    return {
        "stream": name,
        "records": max(0, missing),
        "bodies": bodies,
        "has_new_chain": has_new_chain,
    }


def _fits(name: str, snapshot: Row, records: list[Row], anchor: int, anchor_hash: bytes) -> bool:
    """Return whether a snapshot is the one that was stored; those of formats without a digest are."""
    if len(snapshot) == 3 or snapshot[3] is None:
        return True
    at = snapshot[1]
    known = next((row[11] for row in records if row[3] == at), b"")
    return fits_seal(snapshot[3], name, at, anchor_hash if at == anchor else known, snapshot[2])


def _is_whole(
    name: str, records: list[Row], version: int, head: bytes, anchor: int, anchor_hash: bytes
) -> bool:
    rows = [(*row[:2], *row[3:8], row[9], row[11], row[8], row[10]) for row in records]
    try:
        return refuse_breaks(name, anchor, anchor_hash, rows) == (version, head)
    except HoldfastError:
        return False


def _sealed_anew(name: str, records: list[Row]) -> tuple[list[Row], bytes]:
    previous, sealed = ORIGIN, []
    for at, row in enumerate(records):
        version = at + 1
        draft: Any = {**_event(name, row), "text": row[9] or ""}
        salt, body_hash, hash = seal(previous, name, version, row[6], draft)
        kept = (salt, row[9]) if row[9] is not None else (None, None)
        sealed.append((*row[:3], version, *row[4:8], *kept, body_hash, hash))
        previous = hash
    return sealed, previous


def _event(name: str, row: Row) -> Any:
    body = None if row[9] is None else canonical_json.loads(row[9])
    return {"id": row[1], "stream": name, "version": row[3], "at": row[4], "actor": row[5],
            "fence": row[6], "kind": row[7], "body": body}  # fmt: skip


def _snapshot_state(snapshot: Row | None) -> Any:
    try:
        return canonical_json.loads(snapshot[2]) if snapshot is not None else None
    except (ValueError, TypeError):
        return None


def _raise_fence(connection: apsw.Connection) -> None:
    """A fence is given once, also when the table that counts them is lost."""
    row: Any = connection.execute("SELECT value FROM meta WHERE key = 'fence'").fetchone()
    given: Any = connection.execute(
        "SELECT max(coalesce((SELECT max(fence) FROM streams), 0),"
        " coalesce((SELECT max(fence) FROM records), 0))"
    ).fetchone()
    known = int(row[0]) if row and str(row[0]).isdigit() else given[0] + FENCES_AHEAD
    value = str(max(known, given[0]))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('fence', ?)", (value,))
