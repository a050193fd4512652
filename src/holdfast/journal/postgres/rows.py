"""The journal's tables as SQL: what is selected, and how it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from holdfast.journal.chain import loaded_from
from holdfast.journal.interface import (
    EFFECT_FIELDS,
    REFUSAL_FIELDS,
    VIEW_FIELDS,
    head_of,
)
from holdfast.kernel import canonical_json
from holdfast.kernel.text import without_nul

if TYPE_CHECKING:
    import psycopg

    from holdfast.journal.interface import Effect, Head, Loaded, Refusal, ViewRow

RECORD = (
    "SELECT r.seq, r.id, s.name, r.version, r.at, r.actor, r.fence, r.kind, r.body, r.hash"
    " FROM holdfast.records r JOIN holdfast.streams s ON s.number = r.stream"
)
SEALED = RECORD.replace(" FROM", ", r.salt, r.body_hash FROM", 1)
# A record with what is needed to find it in its chain: the hash of the one before it.
LINKED = (
    SEALED.replace(
        " FROM",
        ", CASE WHEN r.version = s.anchor_version + 1 THEN s.anchor_hash ELSE p.hash END FROM",
        1,
    )
    + " LEFT JOIN holdfast.records p ON p.stream = r.stream AND p.version = r.version - 1"
)
HEAD = (
    "SELECT name, version, fence, seen_at, closed_at, anchor_version FROM holdfast.streams"
    " WHERE workspace = %s"
)
ANCHOR = (
    "SELECT name, anchor_version, anchor_hash, version, hash FROM holdfast.streams"
    " WHERE workspace = %s"
)
# One statement is one instant. The snapshot comes with its stream's first record only: it may be large.
_LOAD = (
    "SELECT s.name, s.version, s.fence, s.seen_at, s.closed_at, s.anchor_version, s.anchor_hash, s.hash,"
    " coalesce(n.version, 0),"
    " CASE WHEN row_number() OVER (PARTITION BY s.number ORDER BY r.version) = 1 THEN n.state END,"
    " n.digest, k.hash, r.seq, r.id, r.version, r.at, r.actor, r.fence, r.kind, r.body, r.hash, r.salt,"
    " r.body_hash FROM holdfast.streams s"
    " LEFT JOIN holdfast.snapshots n ON n.stream = s.number AND %s"
    " LEFT JOIN holdfast.records k ON k.stream = n.stream AND k.version = n.version"
    " LEFT JOIN holdfast.records r ON r.stream = s.number AND r.version > coalesce(n.version, 0)"
    " WHERE s.workspace = %s AND "
)
ONE = "s.name = %s"
_LOAD_ORDER = " ORDER BY s.name, r.version"
BELOW = "s.name >= %s AND s.name < %s AND strpos(substr(s.name, %s), '/') = 0"

# The counter first, and everything else behind the lock of its row: the order of the numbers is the
# order of the commits. A workspace that is being moved gives no numbers.
# A copy of the server that takes over, or a backup that is restored, may lack the last fences that were given. So a fence
# is the time of the server's clock, above all before it, and those of a later timeline are above all of an earlier one.
# What was given before the server changed is at or below the floor.
_NEXT_FENCE = (
    "greatest(fence, floor,"
    " (('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint - 1) * 10000000000000"
    " + (extract(epoch FROM statement_timestamp()) * 1000)::bigint)"
)
COUNT = (
    "UPDATE holdfast.workspaces SET seq = seq + %(count)s, epoch = %(epoch)s,"
    f" fence = CASE WHEN %(grants)s > 0 THEN {_NEXT_FENCE} + %(grants)s ELSE fence END,"
    f" floor = CASE WHEN epoch IN ('', %(epoch)s) THEN floor ELSE {_NEXT_FENCE} END"
    " WHERE number = %(workspace)s AND held = '' RETURNING seq, fence, floor"
)
# A machine had seen records that the server lacks: what was given before waits for a person, too.
RAISE_FLOOR = f"UPDATE holdfast.workspaces SET floor = {_NEXT_FENCE} WHERE number = %s"
CONFIRM = "UPDATE holdfast.workspaces SET floor = 0, epoch = %s WHERE number = %s"
WAITING = (
    "SELECT s.name FROM holdfast.streams s JOIN holdfast.workspaces w ON w.number = s.workspace"
    " WHERE w.number = %s AND s.fence > 0 AND (s.fence <= w.floor OR w.epoch NOT IN ('', %s))"
    " AND s.closed_at IS NULL ORDER BY s.name"
)
ALONE = "SELECT FROM holdfast.workspaces WHERE number = %s FOR UPDATE"
HELD = "SELECT held FROM holdfast.workspaces WHERE number = %s"
# The fence of the newest record that has one. The stream's row is no part of the chain: it tells only
# where no record does, as after `gc`.
_HELD_FENCE = (
    "coalesce((SELECT r.fence FROM holdfast.records r WHERE r.stream = s.number"
    " AND r.fence IS NOT NULL ORDER BY r.version DESC LIMIT 1), s.fence)"
)
STREAMS = (
    "SELECT s.name, s.number, s.version, s.hash, CASE WHEN s.name = ANY(%s)"
    f" THEN {_HELD_FENCE} ELSE s.fence END,"
    " s.seen_at, s.closed_at, s.delta_bytes, s.snapshot_bytes"
    " FROM holdfast.streams s WHERE s.workspace = %s AND s.name = ANY(%s) FOR UPDATE"
)
RAISE_COUNTER = "UPDATE holdfast.workspaces SET fence = greatest(fence, %s) WHERE number = %s"
NEW_STREAM = (
    "INSERT INTO holdfast.streams (workspace, name, version, hash, fence, seen_at, anchor_hash)"
    " VALUES (%s, %s, 0, %s, 0, '', %s) RETURNING number"
)
INSERT = (
    "INSERT INTO holdfast.records (workspace, seq, id, stream, version, at, actor, fence, kind,"
    " salt, body, body_hash, hash) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
ADVANCE = (
    "UPDATE holdfast.streams SET version = %s, hash = %s, fence = %s, seen_at = greatest(seen_at, %s),"
    " delta_bytes = %s, snapshot_bytes = %s WHERE number = %s"
)

# The short way, for one record after one that this writer knows: everything in one statement. The
# stream's row is locked after the counter's, because it is joined to what the counter gave.
_APPEND = (
    "WITH counter AS (UPDATE holdfast.workspaces SET seq = seq + 1"
    "  WHERE number = %(workspace)s AND held = '' AND epoch = %(epoch)s RETURNING seq, floor),"
    " stream AS (UPDATE holdfast.streams s SET version = %(version)s, hash = %(hash)s,"
    "  seen_at = greatest(seen_at, %(at)s), delta_bytes = delta_bytes + %(weight)s FROM counter"
    "  WHERE s.workspace = %(workspace)s AND s.name = %(stream)s AND s.version = %(version)s - 1"
    "  AND s.hash = %(previous)s AND s.closed_at IS NULL{held}"
    "  RETURNING s.number, s.fence, s.delta_bytes, s.snapshot_bytes, counter.seq),"
    " written AS (INSERT INTO holdfast.records (workspace, seq, id, stream, version, at, actor,"
    "  fence, kind, salt, body, body_hash, hash)"
    "  SELECT %(workspace)s, stream.seq, %(id)s, stream.number, %(version)s, %(at)s, %(actor)s,"
    "  %(fence)s::bigint, %(kind)s, %(salt)s, %(body)s, %(body_hash)s, %(hash)s FROM stream)"
    " SELECT seq, fence, delta_bytes, snapshot_bytes, number FROM stream"
)
# Two, because the server prepares for the look at the fence also where there is none.
APPEND = _APPEND.format(held="")
APPEND_FENCED = _APPEND.format(
    held=f" AND %(fence)s::bigint = s.fence AND %(fence)s::bigint > counter.floor"
    f" AND %(fence)s::bigint = {_HELD_FENCE}"
)
# What binds a state to its place in the chain, as `chain.seal_snapshot` has it: `n` is a snapshot of the stream `s`.
_SEAL = (
    "sha256(convert_to('[' || to_json(s.name)::text || ',' || n.version || ',\"' || encode(CASE WHEN"
    " n.version = s.anchor_version THEN s.anchor_hash ELSE coalesce((SELECT k.hash FROM holdfast.records k"
    " WHERE k.stream = s.number AND k.version = n.version), '') END, 'hex') || '\"]' || n.state, 'UTF8'))"
)
# Never back to an older one: retention may have removed the records between the two.
SNAPSHOT = (
    "INSERT INTO holdfast.snapshots AS kept (stream, version, state, digest)"
    f" SELECT s.number, n.version, n.state, {_SEAL} FROM holdfast.streams s,"
    " (VALUES (%s::bigint, %s::bigint, %s::text)) n (stream, version, state) WHERE s.number = n.stream"
    " ON CONFLICT (stream) DO UPDATE SET version = excluded.version, state = excluded.state,"
    " digest = excluded.digest WHERE kept.version <= excluded.version"
)
# The snapshots that are those that were stored, and how they are bound to the chain as it is now.
SEALED_SNAPSHOTS = (
    "SELECT s.number FROM holdfast.streams s JOIN holdfast.snapshots n ON n.stream = s.number"
    f" WHERE s.workspace = %s AND (%s = '' OR s.name = %s) AND n.digest = {_SEAL} FOR UPDATE OF n"
)
RESEAL = (
    f"UPDATE holdfast.snapshots n SET digest = {_SEAL} FROM holdfast.streams s"
    f" WHERE s.number = n.stream AND n.stream = ANY(%s) AND n.digest <> {_SEAL}"
)
WEIGHED = "UPDATE holdfast.streams SET delta_bytes = 0, snapshot_bytes = %s WHERE number = %s"
_VIEW_COLUMNS = ", ".join(VIEW_FIELDS)
VIEWS = (
    f"SELECT {_VIEW_COLUMNS} FROM holdfast.views WHERE workspace = %(workspace)s"
    " AND machine = %(machine)s AND (%(worktree)s = '' OR worktree = %(worktree)s)"
    " AND (%(stream)s = '' OR stream = %(stream)s) AND (%(path)s = '' OR path = %(path)s)"
    " ORDER BY worktree, path"
)
_STORE_VIEW = (
    f"INSERT INTO holdfast.views (workspace, machine, {_VIEW_COLUMNS})"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (workspace, machine, worktree, path) DO UPDATE SET "
    + ", ".join(f"{field} = excluded.{field}" for field in VIEW_FIELDS[2:])
)
_EFFECT_COLUMNS = ", ".join(EFFECT_FIELDS)
EFFECTS = (
    f"SELECT {_EFFECT_COLUMNS} FROM holdfast.outbox WHERE workspace = %s"
    " AND machine IN ('', %s) AND (%s = '' OR due_at <= %s)"
)
_STORE_EFFECT = (
    f"INSERT INTO holdfast.outbox (workspace, machine, {_EFFECT_COLUMNS})"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_REFUSAL_COLUMNS = ", ".join(REFUSAL_FIELDS)
REFUSALS = f"SELECT {_REFUSAL_COLUMNS} FROM holdfast.refused WHERE workspace = %s"
_STORE_REFUSAL = (
    f"INSERT INTO holdfast.refused (workspace, {_REFUSAL_COLUMNS})"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (workspace, id) DO NOTHING"
)
_HEADS = f"{HEAD} AND name >= %s AND name < %s ORDER BY name"


def store_views(
    cursor: psycopg.Cursor, workspace: int, machine: str, views: Sequence[ViewRow]
) -> None:
    for row in views:
        values: Any = row
        cursor.execute(_STORE_VIEW, (workspace, machine, *(values[name] for name in VIEW_FIELDS)))


def store_effects(
    cursor: psycopg.Cursor, workspace: int, effects: Sequence[tuple[str, Effect]]
) -> None:
    """Effects, each with its owner: the machine that alone may carry it out, or nothing."""
    for owner, effect in effects:
        cursor.execute(
            "UPDATE holdfast.outbox SET settled = true"
            " WHERE workspace = %s AND kind = %s AND key = %s AND machine = %s",
            (workspace, effect["kind"], effect["key"], owner),
        )
        values: Any = {
            **effect,
            "body": canonical_json.dumps(effect["body"]),
            "error": without_nul(effect["error"]),
        }
        cursor.execute(_STORE_EFFECT, (workspace, owner, *(values[name] for name in EFFECT_FIELDS)))


def store_refusal(cursor: psycopg.Cursor, workspace: int, refusal: Refusal) -> None:
    values: Any = {
        **refusal,
        "reason": without_nul(refusal["reason"]),
        "drafts": canonical_json.dumps(refusal["drafts"]),
    }
    cursor.execute(_STORE_REFUSAL, (workspace, *(values[name] for name in REFUSAL_FIELDS)))


def prefix_range(prefix: str) -> tuple[str, str]:
    return prefix, prefix + "\U0010ffff"


def heads(connection: psycopg.Connection, workspace: int, prefix: str) -> list[Head]:
    values = (workspace, *prefix_range(prefix))
    found = connection.execute(_HEADS, values, binary=True).fetchall()
    # Spelled out: for ten thousand agents `head_of` takes as long as the server does.
    return [
        {
            "stream": stream,
            "version": version,
            "fence": fence,
            "seen_at": seen_at,
            "closed_at": closed_at,
            "anchor_version": anchor_version,
        }
        for stream, version, fence, seen_at, closed_at, anchor_version in found
    ]


def load(
    connection: psycopg.Connection,
    workspace: int,
    where: str,
    values: Sequence[Any],
    *,
    is_rebuilt: bool = False,
) -> list[tuple[Loaded, bytes]]:
    """Return what the states of streams are made of, checked against their chains, and the hash at the head of
    each. `is_rebuilt` leaves the snapshots out."""
    found = connection.execute(_LOAD + where + _LOAD_ORDER, (not is_rebuilt, workspace, *values))
    streams = []
    for name, group in groupby(found, key=lambda row: row[0]):
        lines = list(group)
        first = lines[0]
        after = [row[12:] for row in lines if row[12] is not None]
        head = head_of(first[:6])
        # The stream's row is no part of the chain.
        fences = (row[5] for row in reversed(after) if row[5] is not None)
        head["fence"] = next(fences, None) or head["fence"]
        loaded = loaded_from(head, first[6:8], first[8:12], after, is_rebuilt=is_rebuilt)
        if loaded is None:
            streams += load(connection, workspace, ONE, (name,), is_rebuilt=True)
        else:
            streams.append((loaded, first[7]))
    return streams
