"""Many streams in one question: a fleet is looked at as a whole, and a server may be far away."""

from __future__ import annotations

from itertools import groupby

from holdfast.journal.interface import head_of, record_of
from holdfast.journal.postgres import rows
from holdfast.kernel import canonical_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import psycopg

    from holdfast.journal.interface import Head, Loaded

_HEADS = f"{rows.HEAD} AND name >= %s AND name < %s ORDER BY name"
# As rows.LOAD, of a range of names, without those of folders below.
_LOAD = (
    "SELECT s.name, s.version, s.fence, s.seen_at, s.closed_at, s.anchor_version, n.version,"
    " CASE WHEN row_number() OVER (PARTITION BY s.number ORDER BY r.version) = 1 THEN n.state END,"
    " r.seq, r.id, s.name, r.version, r.at, r.actor, r.fence, r.kind, r.body, r.hash"
    " FROM holdfast.streams s LEFT JOIN holdfast.snapshots n ON n.stream = s.number"
    " LEFT JOIN holdfast.records r ON r.stream = s.number AND r.version > coalesce(n.version, 0)"
    " WHERE s.workspace = %s AND s.name >= %s AND s.name < %s"
    " AND strpos(substr(s.name, %s), '/') = 0 ORDER BY s.name, r.version"
)


def heads(connection: psycopg.Connection, workspace: int, prefix: str) -> list[Head]:
    values = (workspace, *rows.prefix_range(prefix))
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


def load_all(connection: psycopg.Connection, workspace: int, prefix: str) -> list[Loaded]:
    values = (workspace, *rows.prefix_range(prefix), len(prefix) + 1)
    found = connection.execute(_LOAD, values)
    loaded: list[Loaded] = []
    for _, group in groupby(found, key=lambda row: row[0]):
        lines = list(group)
        first = lines[0]
        loaded.append(
            {
                "head": head_of(first[:6]),
                "snapshot": canonical_json.loads(first[7]) if first[7] is not None else None,
                "snapshot_version": first[6] or 0,
                "records": [record_of(row[8:]) for row in lines if row[8] is not None],
            }
        )
    return loaded
