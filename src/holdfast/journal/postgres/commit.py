"""Appending: one statement for the usual case, one transaction for every other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.journal.chain import ORIGIN, seal
from holdfast.journal.interface import (
    Append,
    is_expected,
    receipt_of,
    record_of,
    refuse_unless_current,
    snapshot_is_due,
    version_conflict,
    weight_of,
    written_record,
)
from holdfast.journal.postgres import rows
from holdfast.journal.postgres.connect import ServerSession
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError, StoreAway

if TYPE_CHECKING:
    import psycopg

    from holdfast.journal.interface import Effect, Receipt, Record, Refusal, ViewRow

    # Where a stream's chain ended when this process last looked: version and hash.
    Tip = tuple[int, bytes]

# How the reason begins while a move goes on.
MOVING = "it is being moved"


def append_one(session: ServerSession, workspace: int, append: Append, tip: Tip) -> Receipt | None:
    """One record behind the tip; None when that is not where the stream ends, or it may not be."""
    (draft,) = append.drafts
    version, previous = tip[0] + 1, tip[1]
    salt, body_hash, record_hash = seal(previous, append.stream, version, append.fence, draft)
    fence = append.fence
    given = {
        "workspace": workspace,
        "epoch": session.epoch,
        "version": version,
        "hash": record_hash,
        "at": draft["at"],
        "weight": weight_of(draft["text"]),
        "stream": append.stream,
        "previous": previous,
        "fence": fence,
        "id": draft["id"],
        "actor": draft["actor"],
        "kind": draft["kind"],
        "salt": salt,
        "body": draft["text"],
        "body_hash": body_hash,
    }
    statement = rows.APPEND if fence is None else rows.APPEND_FENCED
    row: Any = session.execute(statement, given).fetchone()
    if row is None:
        return None
    seq, held, deltas, snapshot_bytes, number = row
    record = written_record(draft, seq, append.stream, version, fence, record_hash)
    if snapshot_is_due(append, deltas, snapshot_bytes):
        with session.pipeline(), session.transaction():
            store_snapshot(session, number, version, append.state)
    return receipt_of(append.stream, version, held, [record], duplicate=False)


class _Stream:
    """A stream while a commit adds to it, under the lock of the counter's row."""

    def __init__(self, name: str, row: Sequence[Any]) -> None:
        self.name = name
        self.number, self.version, self.hash, self.fence = row[:4]
        self.seen_at, self.closed_at, self.deltas, self.snapshot_bytes = row[4:]


def append_all(
    connection: ServerSession,
    workspace: int,
    machine: str,
    appends: Sequence[Append],
    views: Sequence[ViewRow],
    effects: Sequence[tuple[str, Effect]],
    tried: list[Append],
) -> list[Receipt]:
    """Everything in one transaction, in two round trips: what is, then what is added. `tried` ends
    with the append that was refused, if one is."""
    count = sum(len(append.drafts) for append in appends)
    grants = sum(append.grant for append in appends)
    with connection.pipeline() as pipeline, connection.transaction():
        given = {"count": count, "grants": grants, "workspace": workspace}
        counted = connection.execute(rows.COUNT, {**given, "epoch": connection.epoch})
        names = sorted({append.stream for append in appends})
        lives = [one.stream for one in appends if one.grant or one.fence is not None]
        found = connection.execute(rows.STREAMS, (lives, workspace, names))
        # Without this, `fetchone` flushes. The server then waits in the middle of a pipeline, which
        # idle_in_transaction_session_timeout does not count, and a client that vanished keeps the row.
        pipeline.sync()
        counter: Any = counted.fetchone()
        if counter is None:
            held: Any = connection.execute(rows.HELD, (workspace,)).fetchone()
            raise _held(str(held[0]))
        seq, fence = counter[0] - count, counter[1] - grants
        streams = {row[0]: _Stream(row[0], row[1:]) for row in found}
        receipts = []
        cursor = connection.cursor()
        for append in appends:
            tried.append(append)
            stream = _admit(connection, pipeline, workspace, append, streams, floor=counter[2])
            if append.grant:
                # The counter is no part of the chain: a record may know a larger fence.
                fence = max(fence, stream.fence) + 1
                stream.fence = fence
            else:
                stream.fence = max(stream.fence, append.fence or 0)
            written = _write(cursor, workspace, append, stream, seq)
            seq += len(written)
            receipts.append(
                receipt_of(stream.name, stream.version, stream.fence, written, duplicate=False)
            )
        for stream in streams.values():
            cursor.execute(
                rows.ADVANCE,
                (
                    stream.version,
                    stream.hash,
                    stream.fence,
                    stream.seen_at,
                    stream.deltas,
                    stream.snapshot_bytes,
                    stream.number,
                ),
            )
        if fence > counter[1]:
            cursor.execute(rows.RAISE_COUNTER, (fence, workspace))
        rows.store_views(cursor, workspace, machine, views)
        rows.store_effects(cursor, workspace, effects)
    return receipts


def _held(why: str) -> HoldfastError:
    """The refusal of a workspace that is on its way, or gone."""
    if why.startswith(MOVING):
        return StoreAway(
            f"Nothing is written to this workspace now: {why}.",
            hint="Try again when `holdfast journal move` is done; if it was ended, start it again.",
            kind="moving",
        )
    return HoldfastError(
        f"Nothing is written to this workspace any more: {why}.",
        hint="Set HOLDFAST_URL, or journal.url, to where it is now.",
        kind="moved",
    )


def _admit(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    workspace: int,
    append: Append,
    streams: dict[str, _Stream],
    *,
    floor: int,
) -> _Stream:
    """The stream, if this writer may add to it."""
    stream = streams.get(append.stream)
    if stream is None:
        refuse_unless_current(append, None, None)
        made = connection.execute(rows.NEW_STREAM, (workspace, append.stream, ORIGIN, ORIGIN))
        pipeline.sync()
        new: Any = made.fetchone()
        stream = streams[append.stream] = _Stream(
            append.stream, (new[0], 0, ORIGIN, 0, "", None, 0, 0)
        )
    refuse_unless_current(append, stream.fence, stream.closed_at, floor=floor)
    if not is_expected(append, stream.version, stream.hash):
        lost_to = connection.execute(
            f"{rows.RECORD} WHERE r.stream = %s AND r.version > %s ORDER BY r.version LIMIT 1",
            (stream.number, append.expected or 0),
        ).fetchone()
        raise version_conflict(append, stream.version, record_of(lost_to) if lost_to else None)
    return stream


def _write(
    cursor: psycopg.Cursor, workspace: int, append: Append, stream: _Stream, seq: int
) -> list[Record]:
    fence = stream.fence if append.grant else append.fence
    written: list[Record] = []
    for draft in append.drafts:
        seq += 1
        stream.version += 1
        salt, body_hash, record_hash = seal(stream.hash, stream.name, stream.version, fence, draft)
        text = draft["text"]
        cursor.execute(
            rows.INSERT,
            (
                workspace,
                seq,
                draft["id"],
                stream.number,
                stream.version,
                draft["at"],
                draft["actor"],
                fence,
                draft["kind"],
                salt,
                text,
                body_hash,
                record_hash,
            ),
        )
        written.append(written_record(draft, seq, stream.name, stream.version, fence, record_hash))
        stream.hash = record_hash
        stream.deltas += weight_of(text)
        stream.seen_at = max(stream.seen_at, draft["at"])
    if snapshot_is_due(append, stream.deltas, stream.snapshot_bytes):
        state = canonical_json.dumps(append.state)
        cursor.execute(rows.SNAPSHOT, (stream.number, stream.version, state))
        stream.snapshot_bytes, stream.deltas = len(state), 0
    return written


def keep_refused(
    connection: psycopg.Connection, workspace: int, id: str, append: Append, reason: str
) -> None:
    """What a writer without the right to it tried to write. Under a known id it is kept already, from
    before a connection died with the answer."""
    first = append.drafts[0] if append.drafts else None
    refusal: Refusal = {
        "id": id,
        "stream": append.stream,
        "at": first["at"] if first else "",
        "actor": first["actor"] if first else "",
        "fence": append.fence,
        "reason": reason,
        "drafts": append.drafts,
    }
    rows.store_refusal(connection.cursor(), workspace, refusal)


def store_snapshot(connection: psycopg.Connection, number: int, version: int, state: Any) -> None:
    text = canonical_json.dumps(state)
    connection.execute(rows.SNAPSHOT, (number, version, text))
    connection.execute(rows.WEIGHED, (len(text), number))
