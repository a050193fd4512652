"""The rights that a role needs on a PostgreSQL journal, as the SQL that its owner runs.

A role that appends can neither change nor remove a record: retention, erasing and migrations are the
owner's. No connection is made here: a person reads the text first.
"""

from __future__ import annotations

from holdfast.kernel.errors import Usage

LONGEST_ROLE = 63
# table: what a writer may do besides reading it. A column's list is a right to these alone.
_APPENDING = {
    "workspaces": "INSERT (id), UPDATE (seq, fence)",
    "meta": "INSERT, UPDATE",
    "streams": "INSERT (workspace, name, version, hash, fence, seen_at, anchor_hash),"
    " UPDATE (version, hash, fence, seen_at, closed_at, delta_bytes, snapshot_bytes)",
    "records": "INSERT",
    "snapshots": "INSERT, UPDATE",
    "views": "INSERT, UPDATE",
    "outbox": "INSERT, UPDATE, DELETE",
    "refused": "INSERT",
}


def grants(role: str, *, read_only: bool = False) -> list[str]:
    """The statements that let a role append, or only read."""
    if not role or len(role.encode()) > LONGEST_ROLE or not role.isprintable():
        raise Usage(
            f"{role!r} is no name of a role.", hint=f"At most {LONGEST_ROLE} printable bytes."
        )
    quoted = '"' + role.replace('"', '""') + '"'
    statements = [
        f"GRANT USAGE ON SCHEMA holdfast TO {quoted};",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO {quoted};",
    ]
    if not read_only:
        statements += [
            f"GRANT {rights} ON holdfast.{table} TO {quoted};"
            for table, rights in _APPENDING.items()
        ]
    return statements
