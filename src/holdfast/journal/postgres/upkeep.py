"""Looking after the tables: retention, erased texts, sizes, and the rights that a role needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.journal import text_removal
from holdfast.journal.interface import ATTESTED, VIEW_FIELDS
from holdfast.journal.postgres import rows
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    import psycopg

    from holdfast.journal.interface import Collected

TABLES = ("workspaces", "meta", "streams", "records", "snapshots", "views", "outbox", "refused")
# The same rule as in SQLite (`journal.upkeep.collect`), over all streams at once.
_COLLECT = """
WITH ends AS (
 SELECT s.number, s.version, CASE WHEN s.closed_at < %(before)s THEN s.version
  ELSE least(s.version - %(keep)s, coalesce(n.version, 0)) END AS last, n.version AS snapshot
 FROM holdfast.streams s LEFT JOIN holdfast.snapshots n ON n.stream = s.number
 WHERE s.workspace = %(workspace)s AND NOT s.name LIKE ANY(%(spared)s)
), kept AS (
 SELECT e.number, coalesce((
  SELECT min(r.version) - 1 FROM holdfast.records r WHERE r.stream = e.number
  AND (r.version > e.last OR r.at >= %(before)s OR r.seq = %(newest)s
   OR r.version = e.snapshot AND r.kind = %(attested)s)), e.version) AS final
 FROM ends e
), anchors AS (
 SELECT k.number, k.final, r.hash FROM kept k
 JOIN holdfast.records r ON r.stream = k.number AND r.version = k.final
), gone AS (
 DELETE FROM holdfast.records r USING anchors a
 WHERE r.stream = a.number AND r.version <= a.final RETURNING 1
), moved AS (
 UPDATE holdfast.streams s SET anchor_version = a.final, anchor_hash = a.hash
 FROM anchors a WHERE s.number = a.number RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM moved)
"""
# Who this is, and what lifts row-level security for it.
ROLE = """SELECT current_user::text, CASE WHEN r.rolsuper THEN 'It is a superuser.'
 WHEN r.rolbypassrls THEN 'It has the attribute BYPASSRLS.'
 WHEN pg_has_role(c.relowner, 'USAGE') THEN 'It is the owner of the tables.'
 WHEN EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'holdfast' AND p.tablename = 'records' AND p.qual = 'true'
  AND EXISTS (SELECT FROM unnest(p.roles) m WHERE m = 'public' OR pg_has_role(m, 'USAGE')))
 THEN 'It was granted all workspaces.' ELSE '' END
 FROM pg_roles r, pg_class c WHERE r.rolname = current_user AND c.oid = 'holdfast.records'::regclass"""
LONGEST_ROLE = 63
# table: what a writer may do besides reading it. A column's list is a right to these alone. None has a right to a whole
# row that is there: with it, one statement could lock a table, and stop all workspaces.
_APPENDING = {
    "workspaces": "INSERT (id), UPDATE (seq, fence, epoch, floor)",
    "meta": "INSERT, UPDATE (value)",
    "streams": "INSERT (workspace, name, version, hash, fence, seen_at, anchor_hash),"
    " UPDATE (version, hash, fence, seen_at, closed_at, delta_bytes, snapshot_bytes)",
    "records": "INSERT",
    "snapshots": "INSERT, UPDATE (version, state, digest)",
    "views": f"INSERT, UPDATE ({', '.join(VIEW_FIELDS[2:])})",
    "outbox": "INSERT, UPDATE (due_at, attempts, error, settled)",
    "refused": "INSERT",
}


def collect(
    connection: psycopg.Connection,
    workspace: int,
    before: str,
    keep: int,
    spared: Sequence[str] = (),
) -> Collected:
    """Remove old records from the front of each stream, and leave the anchor of its chain."""
    with connection.transaction():
        whole = _sealed(connection, workspace)
        newest: Any = connection.execute(
            "SELECT max(seq) FROM holdfast.records WHERE workspace = %s", (workspace,)
        ).fetchone()
        values = {"workspace": workspace, "before": before, "keep": keep, "newest": newest[0]}
        values["attested"] = ATTESTED
        values["spared"] = [f"{prefix}%" for prefix in spared]
        row: Any = connection.execute(_COLLECT, values).fetchone()
        connection.execute(rows.RESEAL, (whole,))
    return {"records": row[0], "streams": row[1]}


def _sealed(connection: psycopg.Connection, workspace: int, stream: str = "") -> list[int]:
    """Return the streams whose snapshot is the one that was stored, before their chains are changed."""
    found = connection.execute(rows.SEALED_SNAPSHOTS, (workspace, stream, stream)).fetchall()
    return [number for (number,) in found]


def touch(connection: psycopg.Connection, workspace: int, stream: str, at: str) -> None:
    """Seen alive. A sign of life that a crash takes is soon followed by the next."""
    with connection.pipeline(), connection.transaction():
        connection.execute("SET LOCAL synchronous_commit = off")
        connection.execute(
            "UPDATE holdfast.streams SET seen_at = %s"
            " WHERE workspace = %s AND name = %s AND seen_at < %s",
            (at, workspace, stream, at),
        )


def scrub(connection: psycopg.Connection, workspace: int, text: str, mark: str) -> int:
    """Replace a text in the effects that wait and the writes that were refused."""
    changed = 0
    with connection.transaction():
        for table, column in text_removal.PLAIN:
            changed += connection.execute(
                f"UPDATE holdfast.{table} SET {column} = replace({column}, %(text)s, %(mark)s)"
                f" WHERE workspace = %(workspace)s AND strpos({column}, %(text)s) > 0",
                {"text": text, "mark": mark, "workspace": workspace},
            ).rowcount
        for table, structured, plain in text_removal.STRUCTURED:
            found: Any = connection.execute(
                f"SELECT id, {structured}, {plain} FROM holdfast.{table}"
                " WHERE workspace = %s FOR UPDATE",
                (workspace,),
            ).fetchall()
            for id, *values in text_removal.replace_in_rows(found, text, mark):
                connection.execute(
                    f"UPDATE holdfast.{table} SET {structured} = %s, {plain} = %s"
                    " WHERE workspace = %s AND id = %s",
                    (*values, workspace, id),
                )
                changed += 1
    return changed


def vacuum(connection: psycopg.Connection) -> None:
    for table in ("records", "snapshots", "outbox", "refused"):
        connection.execute(f"VACUUM holdfast.{table}")


def size(connection: psycopg.Connection) -> int:
    """Bytes of all tables: of one workspace alone they could only be counted by reading it."""
    total = " + ".join(f"pg_total_relation_size('holdfast.{table}')" for table in TABLES)
    row: Any = connection.execute(f"SELECT {total}").fetchone()
    return int(row[0])


def describe(connection: psycopg.Connection) -> str:
    """The server in one line: its version, its format, and whether the way to it is encrypted."""
    row: Any = connection.execute(
        "SELECT current_setting('server_version'), number FROM holdfast.format"
    ).fetchone()
    way = "over TLS" if connection.pgconn.ssl_in_use else "not encrypted"
    return f"PostgreSQL {str(row[0]).partition(' ')[0]}, format {row[1]}, {way}"


def grants(role: str, *, read_only: bool = False, workspaces: Sequence[str] = ()) -> list[str]:
    """The statements that let a role append, or only read: in these workspaces, or in all without one. They take
    away what an earlier version gave."""
    if not role or len(role.encode()) > LONGEST_ROLE or not role.isprintable():
        raise Usage(
            f"{role!r} is no name of a role.", hint=f"At most {LONGEST_ROLE} printable bytes."
        )
    quoted = '"' + role.replace('"', '""') + '"'
    statements = [
        f"REVOKE ALL ON ALL TABLES IN SCHEMA holdfast FROM {quoted};",
        f"GRANT USAGE ON SCHEMA holdfast TO {quoted};",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO {quoted};",
    ]
    if not read_only:
        statements += [
            f"GRANT {rights} ON holdfast.{table} TO {quoted};"
            for table, rights in _APPENDING.items()
        ]
    return statements + _policies(quoted, workspaces)


def _policies(role: str, workspaces: Sequence[str]) -> list[str]:
    """Row-level security: of every table, a role sees and writes the rows of its workspaces."""
    if not all(name and name.isprintable() for name in workspaces):
        raise Usage("A workspace has a name of printable characters.")
    names = ", ".join("'" + name.replace("'", "''") + "'" for name in workspaces)
    # The row of the workspace that the role can see.
    own = "workspace IN (SELECT number FROM holdfast.workspaces)"
    rows = dict.fromkeys(TABLES, own if workspaces else "true")
    rows["workspaces"] = f"id IN ({names})" if workspaces else "true"
    if workspaces:
        rows["snapshots"] = "EXISTS (SELECT FROM holdfast.streams s WHERE s.number = stream)"
        # Else a record could take the place in another workspace's stream that its next one needs.
        added = "s.number = records.stream AND s.workspace = records.workspace"
        rows["records"] += f") WITH CHECK (EXISTS (SELECT FROM holdfast.streams s WHERE {added})"
    return [
        statement
        for table, row in rows.items()
        for statement in (
            f"DROP POLICY IF EXISTS {role} ON holdfast.{table};",
            f"CREATE POLICY {role} ON holdfast.{table} TO {role} USING ({row});",
        )
    ]


def rename(
    connection: psycopg.Connection, workspace: int, stream: str, text: str, mark: str
) -> None:
    """Take a text out of the name of a stream, and of the ids and actors of its records, as
    `journal.upkeep.rename` does. Only the owner of the database may."""
    with connection.transaction():
        row: Any = connection.execute(
            "SELECT number, anchor_hash FROM holdfast.streams"
            " WHERE workspace = %s AND name = %s FOR UPDATE",
            (workspace, stream),
        ).fetchone()
        if row is None:
            return
        number, previous = row
        whole = _sealed(connection, workspace, stream)

        def is_taken(name: str) -> bool:
            taken = connection.execute(
                "SELECT 1 FROM holdfast.streams WHERE workspace = %s AND name = %s",
                (workspace, name),
            )
            return taken.fetchone() is not None

        name = text_removal.find_free_name(stream, stream.replace(text, mark), is_taken)
        records: Any = connection.execute(
            f"SELECT {text_removal.RECORD} FROM holdfast.records WHERE stream = %s ORDER BY version",
            (number,),
        ).fetchall()
        for seq, draft, *sealed in text_removal.seal_again(records, previous, name, text, mark):
            connection.execute(
                "UPDATE holdfast.records SET id = %s, actor = %s, salt = %s, body_hash = %s,"
                " hash = %s WHERE workspace = %s AND seq = %s",
                (draft["id"], draft["actor"], *sealed, workspace, seq),
            )
            previous = sealed[-1]
        connection.execute(
            "UPDATE holdfast.streams SET name = %s, hash = %s WHERE number = %s",
            (name, previous, number),
        )
        connection.execute(rows.RESEAL, (whole,))
        for table in ("views", "outbox", "refused"):
            connection.execute(
                f"UPDATE holdfast.{table} SET stream = %s WHERE workspace = %s AND stream = %s",
                (name, workspace, stream),
            )
