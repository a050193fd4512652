"""Looking after the SQLite file: retention, compaction, copies, and its health."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import apsw

from holdfast.journal import chain, text_removal
from holdfast.journal.interface import (
    ATTESTED,
    EFFECT_FIELDS,
    REFUSAL_FIELDS,
    VIEW_FIELDS,
    effect_of,
    refusal_of,
    value_of,
    view_of,
)
from holdfast.journal.migrate import LOGS, remove_database
from holdfast.journal.sqlite import APPLICATION_ID, FENCES_AHEAD, FORMAT, SqliteJournal
from holdfast.journal.sqlite_rows import (
    RESTORED_AFTER,
    RESTORED_KEY,
    file_recent,
    is_sealed,
    reseal_snapshot,
    translate_errors,
)
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import HoldfastError, NotFound, Usage, from_os_error
from holdfast.kernel.plain_file import strange_beside
from holdfast.kernel.text import split_words

if TYPE_CHECKING:
    from holdfast.journal.interface import Collected

# The tables beside the records: the columns of a row, and what reads it.
SIDE_ROWS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "meta": ("value", value_of),
    "views": (", ".join(VIEW_FIELDS), view_of),
    "outbox": (", ".join(EFFECT_FIELDS), effect_of),
    "refused": (", ".join(REFUSAL_FIELDS), refusal_of),
}
# Names of the copies that a restore leaves in the journal's folder.
COPY_PREFIXES = ("before-restore-", "damaged-")
# The new journal of a restore while it is written.
PREPARED = "restore.unfinished"
RESTORED_TABLES = split_words("meta streams records recent snapshots views outbox refused")
# Below this share of unused pages, rewriting the file is not worth its time.
COMPACT_ABOVE = 0.1
# Versions with the fix of the WAL-reset race, by branch; everything from 3.51.3 on has it.
FIXED_SINCE = (3, 51, 3)
FIXED_BRANCHES = ((3, 44, 6), (3, 50, 7))


def collect(
    connection: apsw.Connection, before: str, keep: int, spared: tuple[str, ...] = ()
) -> Collected:
    """Remove old records from the front of each stream, and leave the anchor of its chain.

    Kept are the records that a state is made of, the one with the snapshot's digest, the newest
    `keep`, and the newest of all: its number is the next one's predecessor, and a follower must never
    see a number twice.
    """
    collected: Collected = {"records": 0, "streams": 0}
    newest: Any = connection.execute("SELECT max(seq) FROM records").fetchone()
    streams: Any = connection.execute(
        "SELECT s.number, s.version, s.closed_at, coalesce(n.version, 0), s.name FROM streams s"
        " LEFT JOIN snapshots n ON n.stream = s.number"
    ).fetchall()
    for number, version, closed_at, snapshot_version, name in streams:
        if name.startswith(spared):
            continue
        long_ended = closed_at is not None and closed_at < before
        last = version if long_ended else min(version - keep, snapshot_version)
        first_kept: Any = connection.execute(
            "SELECT min(version) FROM records"
            " WHERE stream = ? AND (version > ? OR at >= ? OR seq = ? OR version = ? AND kind = ?)",
            (number, last, before, newest[0], snapshot_version, ATTESTED),
        ).fetchone()
        end = version if first_kept[0] is None else first_kept[0] - 1
        anchor = connection.execute(
            "SELECT hash FROM records WHERE stream = ? AND version = ?", (number, end)
        ).fetchone()
        if anchor is None:
            continue
        was_sealed = is_sealed(connection, number)
        connection.execute("DELETE FROM records WHERE stream = ? AND version <= ?", (number, end))
        collected["records"] += connection.changes()
        collected["streams"] += 1
        connection.execute(
            "UPDATE streams SET anchor_version = ?, anchor_hash = ? WHERE number = ?",
            (end, anchor[0], number),
        )
        if was_sealed:
            reseal_snapshot(connection, number)
    return collected


def scrub(connection: apsw.Connection, text: str, mark: str) -> int:
    """Replace a text in the effects that wait, the writes that were refused, and the settings."""
    changed = 0
    for table, column in text_removal.PLAIN:
        connection.execute(
            f"UPDATE {table} SET {column} = replace({column}, ?1, ?2) WHERE instr({column}, ?1)",
            (text, mark),
        )
        changed += connection.changes()
    for table, structured, plain in text_removal.STRUCTURED:
        rows: Any = connection.execute(f"SELECT id, {structured}, {plain} FROM {table}").fetchall()
        for id, *values in text_removal.replace_in_rows(rows, text, mark):
            connection.execute(
                f"UPDATE {table} SET {structured} = ?, {plain} = ? WHERE id = ?", (*values, id)
            )
            changed += 1
    return changed


def rename(journal: SqliteJournal, stream: str, text: str, mark: str) -> None:
    """Take a text out of the name of a stream, and of the ids and actors of its records. The chain
    holds all of these, so the stream is sealed anew from where it begins."""
    with journal.transaction() as connection:
        row: Any = connection.execute(
            "SELECT number, anchor_hash FROM streams WHERE name = ?", (stream,)
        ).fetchone()
        if row is None:
            return
        number, previous = row
        was_sealed = is_sealed(connection, number)

        def is_taken(name: str) -> bool:
            taken: Any = connection.execute("SELECT 1 FROM streams WHERE name = ?", (name,))
            return taken.fetchone() is not None

        name = text_removal.find_free_name(stream, stream.replace(text, mark), is_taken)
        records: Any = connection.execute(
            f"SELECT {text_removal.RECORD} FROM records WHERE stream = ? ORDER BY version",
            (number,),
        ).fetchall()
        for seq, draft, *sealed in text_removal.seal_again(records, previous, name, text, mark):
            connection.execute(
                "UPDATE records SET id = ?, actor = ?, salt = ?, body_hash = ?, hash = ? WHERE seq = ?",
                (draft["id"], draft["actor"], *sealed, seq),
            )
            previous = sealed[-1]
        connection.execute(
            "UPDATE streams SET name = ?, hash = ? WHERE number = ?", (name, previous, number)
        )
        if was_sealed:
            reseal_snapshot(connection, number)
        for table in ("views", "outbox", "refused"):
            connection.execute(f"UPDATE {table} SET stream = ? WHERE stream = ?", (name, stream))


def forget_views(journal: SqliteJournal, text: str) -> None:
    """Forget the views whose path holds a text; their files are gone."""
    with journal.transaction() as connection:
        connection.execute("DELETE FROM views WHERE instr(path, ?)", (text,))


def compact(journal: SqliteJournal, *, always: bool = False) -> int:
    """Give unused pages back to the disk; the bytes freed, which can be negative for a WAL."""
    connection = journal.connection()
    before = size(journal)
    with translate_errors("compacting the journal", journal.path):
        (unused,) = connection.execute("PRAGMA freelist_count").fetchone() or (0,)
        (pages,) = connection.execute("PRAGMA page_count").fetchone() or (0,)
        if always or unused > pages * COMPACT_ABOVE:
            connection.execute("VACUUM")
        if always:
            journal.mark.clear()  # it names streams, and a name can be what is purged
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return before - size(journal)


def size(journal: SqliteJournal) -> int:
    """Bytes on disk, by `stat`: the files themselves must not be opened."""
    total = 0
    for suffix in ("", "-wal"):
        try:
            total += os.stat(journal.path + suffix).st_size
        except FileNotFoundError:
            continue
    return total


def backup(journal: SqliteJournal, destination: str) -> None:
    """A consistent copy while others write, whole or not at all."""
    refuse_existing(destination)
    folder = os.path.dirname(destination) or "."
    if not os.path.isdir(folder):
        raise NotFound(f"There is no folder {folder}.")
    unfinished = f"{destination}.unfinished"
    try:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        # By us: SQLite does not say why it cannot make a file, and the copy is as private as the journal.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(unfinished, flags, 0o600))
        copy = apsw.Connection(unfinished)
        with translate_errors("copying the journal", journal.path):
            # In one step: SQLite begins a copy anew when a process wrote between two steps.
            with copy.backup("main", journal.connection(), "main") as steps:
                steps.step(-1)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        copy.close()
        descriptor = os.open(unfinished, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(unfinished, destination)
    except OSError as error:
        raise from_os_error(error, f"writing {destination}") from error


def refuse_existing(destination: str) -> None:
    if os.path.exists(destination):
        raise HoldfastError(
            f"{destination} exists already.", hint="Name a file that does not exist yet."
        )


def restore(journal: SqliteJournal, source: str, *, aside: str = "") -> None:
    """Make the journal what a copy is, in one transaction: a kill leaves what was there or the whole copy.
    What the journal was until then is copied to `aside`: no other process writes in between."""
    with _Prepared(source, journal.path) as copy:
        connection = journal.connection()
        with translate_errors("restoring the journal", journal.path):
            connection.execute("ATTACH ? AS copy", (copy.path,)).fetchall()
            try:
                with journal.transaction():
                    if aside:
                        _copy_committed(journal, aside)
                    _take_rows(connection)
                    reached("before a restore is committed")
            finally:
                connection.execute("DETACH copy").fetchall()
        reached("after a restore is committed")


def replace_damaged(path: str, source: str, aside: str) -> None:
    """Put a copy in the place of a journal that cannot be read, which is kept. The fences that were given since
    the copy are not known, so that many are passed over."""
    with _Prepared(source, path) as copy:
        with copy.transaction() as connection:
            connection.execute(
                "INSERT INTO meta VALUES ('fence', ?1) ON CONFLICT (key) DO UPDATE"
                " SET value = CAST(value AS INTEGER) + ?1",
                (FENCES_AHEAD,),
            )
        with translate_errors("writing the journal", copy.path):
            copy.connection().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        copy.close()
        replace(path, copy.path, aside)


class _Prepared:
    """A copy of a journal, as of this version, beside the journal that it will replace: whole, or refused."""

    def __init__(self, source: str, path: str) -> None:
        self._source = source
        self._path = os.path.join(os.path.dirname(path), PREPARED)
        self._journal: SqliteJournal | None = None

    def __enter__(self) -> SqliteJournal:
        check_copy(self._source)
        remove_database(self._path)
        try:
            self._copy()
            self._journal = journal = SqliteJournal(self._path, is_new=False)
            for finding in chain.verify(journal):
                if finding["broken"]:
                    raise _damaged_copy(self._source, f"{finding['stream']}: {finding['broken']}")
        except BaseException:
            self.__exit__()
            raise
        return journal

    def _copy(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            os.close(os.open(self._path, flags, 0o600))
        except OSError as error:
            raise from_os_error(error, f"writing {self._path}") from error
        with translate_errors("copying the journal", self._source):
            copy = apsw.Connection(self._source, flags=apsw.SQLITE_OPEN_READONLY)
            target = apsw.Connection(self._path)
            with target.backup("main", copy, "main") as steps:
                steps.step(-1)
            copy.close()
            target.execute("PRAGMA journal_mode = WAL").fetchall()
            target.close()

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()
        remove_database(self._path)


def _copy_committed(journal: SqliteJournal, aside: str) -> None:
    """Copy the journal as it was before the transaction of this process."""
    reader = SqliteJournal(journal.path, read_only=True)
    try:
        backup(reader, aside)
    finally:
        reader.close()


def _take_rows(connection: apsw.Connection) -> None:
    """Replace the rows of all tables. A fence and the number of a record are given once: a life or a reader
    from the time after the copy must not find its number free again."""
    newest: Any = connection.execute(
        f"SELECT max(coalesce((SELECT max(seq) FROM main.records), 0), ({RESTORED_AFTER}))"
    ).fetchone()
    fence: Any = connection.execute("SELECT value FROM main.meta WHERE key = 'fence'").fetchone()
    for table in RESTORED_TABLES:
        connection.execute(f"DELETE FROM main.{table}")
        connection.execute(f"INSERT INTO main.{table} SELECT * FROM copy.{table}")
    file_recent(connection)
    for key, least in (("fence", fence[0] if fence else 0), (RESTORED_KEY, newest[0])):
        connection.execute(
            "INSERT INTO main.meta VALUES (?1, CAST(?2 AS INTEGER)) ON CONFLICT (key) DO UPDATE"
            " SET value = max(CAST(value AS INTEGER), CAST(?2 AS INTEGER))",
            (key, least),
        )


def replace(path: str, new: str, aside: str) -> None:
    """Put a complete journal in the place of a damaged one, which is kept. It can be repeated after a
    crash: its last step is one rename."""
    if not os.path.exists(aside):
        os.link(path, aside)
    reached("before the damaged log is moved")
    for suffix in ("-wal", "-shm", "-mark"):
        # The old log must not be replayed into the new file.
        if os.path.exists(path + suffix):
            os.rename(path + suffix, aside + suffix)
    remove_database(new, LOGS)
    reached("before the salvaged journal is moved")
    os.rename(new, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_copy(source: str) -> None:
    """Refuse what is not a whole journal of a format that this holdfast knows."""
    if not os.path.isfile(source):
        raise NotFound(f"There is no file {source}.")
    if strange := strange_beside(source):
        raise Usage(f"{strange} is not a regular file.", hint="Look what it is, then remove it.")
    try:
        copy = apsw.Connection(source, flags=apsw.SQLITE_OPEN_READONLY)
        (application_id,) = copy.execute("PRAGMA application_id").fetchone() or (0,)
        (version,) = copy.execute("PRAGMA user_version").fetchone() or (0,)
        problems = integrity(copy)
        copy.close()
    except apsw.CorruptError as error:
        raise _damaged_copy(source, str(error)) from error
    except apsw.Error as error:
        raise HoldfastError(f"{source} is not a journal: {error}.", kind="not_a_journal") from error
    if application_id != APPLICATION_ID:
        raise HoldfastError(f"{source} is not a journal of holdfast.", kind="not_a_journal")
    if version > FORMAT:
        raise HoldfastError(
            f"{source} has format {version}; this holdfast knows formats up to {FORMAT}.",
            hint="Install the newer holdfast that wrote it.",
            kind="newer_format",
        )
    if problems:
        raise _damaged_copy(source, problems[0])


def _damaged_copy(source: str, problem: str) -> HoldfastError:
    return HoldfastError(
        f"{source} is damaged: {problem}.", hint="Restore another copy.", kind="journal_damaged"
    )


def integrity(connection: apsw.Connection) -> list[str]:
    """What SQLite's own check complains about."""
    try:
        rows: Any = connection.execute("PRAGMA integrity_check(20)").fetchall()
    except apsw.Error as error:
        return [str(error)]
    return [row[0] for row in rows if row[0] != "ok"]


def list_unreadable(connection: apsw.Connection) -> list[str]:
    """Return what is wrong with rows beside the records, whose chains tell of themselves."""
    problems = []
    for table, (fields, make) in SIDE_ROWS.items():
        try:
            for row in connection.execute(f"SELECT {fields} FROM {table}"):
                make(row)
        except (apsw.Error, TypeError, ValueError) as error:
            problems.append(f"a row of {table} cannot be read: {error}")
    return problems


def has_reset_race(version: str) -> bool:
    """Whether this SQLite can lose a commit that races a checkpoint (fixed in 3.51.3)."""
    parts = tuple(int(part) for part in version.split(".")[:3])
    if parts >= FIXED_SINCE:
        return False
    return not any(parts[:2] == fixed[:2] and parts >= fixed for fixed in FIXED_BRANCHES)
