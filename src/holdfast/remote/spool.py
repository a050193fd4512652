"""The spool: this machine's file while the workspace's journal is on a server.

Hooks write here and never wait for a network. What is of one life is delivered from here, in order and
once (`delivery`). What hooks read is brought here: a stream's head on the server is adopted as one
whose chain begins there, as after `gc`. Both are kept in `meta`, so the file's format is the same.
"""

from __future__ import annotations

from holdfast.journal.chain import ORIGIN
from holdfast.journal.sqlite_rows import ENDED_BY, store_snapshot, store_views, translate_errors
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import LIVES, MIRRORED
from holdfast.kernel.views.move import MOVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    import apsw

    from holdfast.journal.interface import Draft, Effect, Head, Journal, ViewRow
    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.journal.sqlite import SqliteJournal
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace

    class Undelivered(TypedDict):
        """What is not on the server yet."""

        records: int
        streams: int
        oldest: str

    class Heard(TypedDict):
        """When a server was last heard, and up to which of its records this machine knows it; `id` is
        that record's."""

        place: str
        at: str
        seq: int
        id: str

    class ServerLoss(TypedDict):
        """The server lacked records that this machine had seen: up to which, and what it had left."""

        place: str
        had: int
        has: int
        at: str


# Behind each the name of a stream: up to which version it was delivered, and until when it was seen.
_DELIVERED = "delivered/"
_TOUCHED = "touched/"
# Behind the version: the server does not know this stream, and must not get it.
_ALONE = " alone"
_HEARD = "heard"
_LOSS = "server_loss"
_OF_ONE_LIFE = " OR ".join(f"s.name GLOB '{kind}*'" for kind in LIVES)
# From the few streams that have something new to their records: the file may hold years of others.
_UNDELIVERED = (
    f" FROM streams s LEFT JOIN meta m ON m.key = '{_DELIVERED}' || s.name"
    " CROSS JOIN records r ON r.stream = s.number"
    " AND r.version > coalesce(CAST(m.value AS INTEGER), 0)"
    " WHERE s.version > coalesce(CAST(m.value AS INTEGER), 0)"
)
_WAITING = f"{_UNDELIVERED} AND ({_OF_ONE_LIFE})"
# Records that are delivered at once: one life's, in one transaction.
BATCH = 100
# The fences that a file gives by itself, once it knows the server's, are never the same numbers.
APART = 10**12


class Batch:
    """Records of one life that come one after the other, and what stands beside them."""

    def __init__(self, stream: str, fence: int | None, first: int, *, is_known: bool) -> None:
        self.stream = stream
        self.fence = fence
        self.first = first
        self.last = first
        # Whether the stream came from the server, or went there.
        self.is_known = is_known
        self.drafts: list[Draft] = []
        self.effects: list[Effect] = []
        self.views: list[ViewRow] = []


class Spool:
    """A file, seen as what is still to be delivered, and what was brought from the server."""

    def __init__(self, file: SqliteJournal) -> None:
        self.file = file

    def waiting(self) -> Undelivered:
        [(records, streams, oldest)] = self._rows(
            f"SELECT count(*), count(DISTINCT s.number), min(r.at){_WAITING}"
        )
        return {"records": records, "streams": streams, "oldest": oldest or ""}

    def next_batch(self) -> Batch | None:
        """The oldest records that wait, as far as they are one life's."""
        found = self._rows(
            f"SELECT s.name, r.version, r.id, r.at, r.actor, r.fence, r.kind, r.body, s.version,"
            f" m.value{_WAITING} ORDER BY r.seq LIMIT {BATCH}"
        )
        if not found:
            return None
        stream, first, *_, delivered = found[0]
        is_known = delivered is not None and not str(delivered).endswith(_ALONE)
        batch = Batch(stream, found[0][5], first, is_known=is_known)
        for name, version, id, at, actor, fence, kind, text, newest, _ in found:
            if name != stream or fence != batch.fence:
                break
            batch.last = version
            if text is None:
                continue  # erased, and nothing is left to deliver
            body = canonical_json.loads(text)
            batch.drafts.append(
                {"id": id, "kind": kind, "body": body, "text": text, "at": at, "actor": actor}
            )
            if version == newest:
                batch.views = self.file.views(stream=stream)
        times = {draft["at"] for draft in batch.drafts}
        batch.effects = [
            effect
            for effect in self.file.effects(limit=-1)
            if effect["stream"] == stream
            and effect["kind"] != MOVE  # carried out here, by the next write
            and effect["queued_at"] in times
        ]
        return batch

    def settle(self, batch: Batch, refused_by: Head | None = None) -> None:
        """Note that these were delivered, or refused: then the life is over here as well."""
        with self.file.transaction() as connection:
            _put(connection, _DELIVERED + batch.stream, batch.last)
            for effect in batch.effects:
                connection.execute("DELETE FROM outbox WHERE id = ?", (effect["id"],))
            if refused_by is not None:
                connection.execute(
                    "UPDATE streams SET fence = ?, closed_at = ? WHERE name = ?",
                    (refused_by["fence"], refused_by["closed_at"], batch.stream),
                )
                _put(connection, ENDED_BY + batch.stream, refused_by["fence"])

    def refuse(self, batch: Batch, reason: str) -> None:
        """What the server cannot take for what it is: kept here for a person, so that the others go
        on."""
        drafts = canonical_json.dumps(batch.drafts)
        first = batch.drafts[0]
        with self.file.transaction() as connection:
            connection.execute(
                "INSERT INTO refused VALUES (?, ?, ?, ?, ?, ?, ?)",
                (new_id(), batch.stream, first["at"], first["actor"], batch.fence, reason, drafts),
            )
            mark = "" if batch.is_known else _ALONE
            _put(connection, _DELIVERED + batch.stream, f"{batch.last}{mark}")

    def settle_all(self) -> None:
        """Note that everything in the file is on the server, such as after it was moved there."""
        with self.file.transaction() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO meta SELECT '{_DELIVERED}' || name, version FROM streams"
            )

    def left_behind(self, stream: str = "") -> int:
        """Records that stay in the file: of no single life, so written without the server's URL."""
        [(count,)] = self._rows(
            f"SELECT count(*){_UNDELIVERED} AND NOT ({_OF_ONE_LIFE}) AND ?1 IN ('', s.name)", stream
        )
        return int(count)

    # Signs of life, which leave no record

    def seen(self) -> list[tuple[str, str, int]]:
        """Streams that were seen alive since the last report to the server: their names, when, their fences."""
        return self._rows(
            "SELECT s.name, s.seen_at, s.fence FROM streams s"
            f" LEFT JOIN meta m ON m.key = '{_TOUCHED}' || s.name"
            f" WHERE s.seen_at > coalesce(m.value, '') AND s.fence > 0 AND ({_OF_ONE_LIFE})"
        )

    def settle_seen(self, stream: str, at: str) -> None:
        with self.file.transaction(durable=False) as connection:
            _put(connection, _TOUCHED + stream, at)

    # What comes back

    def adopt(
        self,
        head: Head,
        record_hash: bytes,
        state: Any,
        views: Sequence[ViewRow] = (),
        *,
        only_newer: bool = False,
    ) -> bool:
        """Let a stream begin where the server has it, with its state. False when this machine wrote
        something since that the server does not have: that is delivered first. `only_newer` is for
        a caller that does not know whether another process was faster."""
        stream = head["stream"]
        # Lost in a power cut, it is brought again.
        with self.file.transaction(durable=False) as connection:
            row: Any = connection.execute(
                "SELECT s.number, s.version, s.seen_at, EXISTS (SELECT 1 FROM records r WHERE"
                " r.stream = s.number AND r.version > coalesce(CAST(m.value AS INTEGER), 0))"
                f" FROM streams s LEFT JOIN meta m ON m.key = '{_DELIVERED}' || s.name"
                " WHERE s.name = ?",
                (stream,),
            ).fetchone()
            if row is None:
                connection.execute(
                    "INSERT INTO streams (name, version, hash, fence, seen_at, anchor_hash)"
                    " VALUES (?, 0, ?, 0, '', ?)",
                    (stream, ORIGIN, ORIGIN),
                )
                row = (connection.last_insert_rowid(), 0, "", False)
            number, version, seen_at, waits = row
            if waits and stream.startswith(LIVES):
                return False
            if only_newer and version > head["version"]:
                return False
            if version > head["version"]:
                self.file.mark.clear()  # the server's stream is shorter, and takes its place
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            connection.execute("DELETE FROM records WHERE stream = ?", (number,))
            size = store_snapshot(connection, number, head["version"], state, (stream, record_hash))
            came = (head["version"], record_hash, head["fence"], max(seen_at, head["seen_at"]))
            connection.execute(
                "UPDATE streams SET version = ?, hash = ?, fence = ?, seen_at = ?, closed_at = ?,"
                " anchor_version = ?, anchor_hash = ?, delta_bytes = 0, snapshot_bytes = ?"
                " WHERE number = ?",
                (*came, head["closed_at"], head["version"], record_hash, size, number),
            )
            _put(connection, _DELIVERED + stream, head["version"])
            connection.execute(
                "INSERT INTO meta VALUES ('fence', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1"
                " WHERE CAST(value AS INTEGER) < ?1",
                (APART,),
            )
            if head["seen_at"] >= seen_at:
                _put(connection, _TOUCHED + stream, head["seen_at"])
            store_views(connection, views)
            return True

    def adopt_views(self, views: Sequence[ViewRow]) -> None:
        """Files that a command wrote without a record, such as one that was missing."""
        with self.file.transaction() as connection:
            store_views(connection, views)

    def is_current(self, head: Head) -> bool:
        """Whether a stream stands here as it was brought, and the server still has it so."""
        own = self.file.head(head["stream"])
        names = ("version", "fence", "closed_at")
        is_same = own is not None and all(own[name] == head[name] for name in names)  # type: ignore[literal-required]
        return is_same and own is not None and own["anchor_version"] == own["version"]

    def hear(self, server: Journal, seq: int, now: int, id: str = "") -> None:
        """The server was heard just now."""
        heard: Heard = {"place": _place_of(server), "at": clock.precise(now), "seq": seq, "id": id}
        with self.file.transaction(durable=False) as connection:
            _put(connection, _HEARD, canonical_json.dumps(heard))

    def heard(self) -> Heard:
        """When it was last heard; nothing yet is the empty time."""
        kept: Heard = {"place": "", "at": "", "seq": 0, "id": ""}
        kept.update(canonical_json.loads(self.file.get(_HEARD) or "{}"))
        return kept

    def look_for_loss(self, server: PostgresJournal, now: int) -> ServerLoss | None:
        """Whether the server lacks what this machine had seen of it: a copy took over without its last
        records, or an older backup was restored. Kept for people, and seen once."""
        heard = self.heard()
        if heard["place"] != _place_of(server) or not heard["seq"]:
            return None
        has = server.last_number()
        there = server.id_at(heard["seq"]) if has >= heard["seq"] and heard["id"] else ""
        if has >= heard["seq"] and there in ("", heard["id"]):
            return None
        loss: ServerLoss = {
            "place": server.place,
            "had": heard["seq"],
            "has": min(has, heard["seq"] - 1),
            "at": clock.precise(now),
        }
        with self.file.transaction() as connection:
            _put(connection, _LOSS, canonical_json.dumps(loss))
        self.hear(server, has, now, server.id_at(has) if has else "")
        return loss

    def loss(self) -> ServerLoss | None:
        """The last loss of the server that this machine found."""
        text = self.file.get(_LOSS)
        found: ServerLoss | None = canonical_json.loads(text) if text else None
        return found

    def _rows(self, sql: str, *values: str) -> list[Any]:
        self.file.file_recent()
        with translate_errors("reading the spool", self.file.path):
            return self.file.connection().execute(sql, values).fetchall()


def _put(connection: apsw.Connection, key: str, value: str | int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))


def _place_of(server: Journal) -> str:
    """Return where records are numbered: a server, and the workspace there."""
    return f"{server.place} {getattr(server, 'workspace', '')}"


def keep_here(
    workspace: Workspace, stream: str, state: Any, outcome: Outcome, rows: Sequence[ViewRow]
) -> bool:
    """After a command wrote on the server what hooks here read. Where the file cannot be written the
    command is done all the same; the forwarder brings it later."""
    if not (outcome["records"] or rows):
        return False
    try:
        spool = Spool(workspace.spool_file())
        if outcome["records"]:
            newest = outcome["records"][-1]
            server, heard = workspace.journal, spool.heard()
            if newest["seq"] > heard["seq"] or heard["place"] != _place_of(server):
                spool.hear(server, newest["seq"], clock.now(), newest["id"])
        if not stream.startswith((*LIVES, *MIRRORED)):
            return False
        if spool.left_behind(stream):
            return True  # which is kept by the forwarder, before it makes room
        if not outcome["records"]:
            spool.adopt_views(rows)
            return True
        last = outcome["records"][-1]
        head: Head = {
            "stream": stream,
            "version": last["version"],
            "fence": outcome["fence"],
            "seen_at": last["at"],
            "closed_at": None,
            "anchor_version": 0,
        }
        return spool.adopt(head, bytes.fromhex(last["hash"]), state, rows, only_newer=True)
    except (HoldfastError, OSError):
        return False
