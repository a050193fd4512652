"""A byte that changes on the server is named by the command that reads it, and by the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from holdfast.journal.interface import SNAPSHOT_FLOOR
from holdfast.journal.postgres import connect
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.kernel.errors import HoldfastError
from holdfast.testing.journal.examples import draft, write
from tests.cli.conftest import Holdfast

if TYPE_CHECKING:
    from tests.journal.postgres.conftest import Open

OF_THIS_WORKSPACE = (
    "(SELECT s.number FROM holdfast.streams s JOIN holdfast.workspaces w ON w.number = s.workspace"
    " WHERE w.id = %s)"
)


@pytest.mark.parametrize(("table", "column"), [("records", "body"), ("snapshots", "state")])
def test_a_byte_that_was_changed_on_the_server_is_named(
    repository: Path,
    holdfast: Holdfast,
    on_server: str,
    workspace_name: str,
    table: str,
    column: str,
) -> None:
    for number in range(3 + SNAPSHOT_FLOOR // 1024):
        assert holdfast("note", f"step {number} " + "x" * 1024, "--to", "plan").code == 0
    assert holdfast("verify").code == 0
    with psycopg.connect(on_server) as connection:
        if table == "snapshots":  # and the records before it are gone
            connection.execute(
                "UPDATE holdfast.streams s SET anchor_version = n.version, anchor_hash = r.hash"
                " FROM holdfast.snapshots n JOIN holdfast.records r"
                " ON r.stream = n.stream AND r.version = n.version"
                f" WHERE s.number = n.stream AND n.stream IN {OF_THIS_WORKSPACE}",
                (workspace_name,),
            )
            connection.execute(
                "DELETE FROM holdfast.records r USING holdfast.streams s WHERE s.number = r.stream"
                f" AND r.version <= s.anchor_version AND r.stream IN {OF_THIS_WORKSPACE}",
                (workspace_name,),
            )
    assert holdfast("show", "note:plan").code == 0, "what was kept is still whole"
    with psycopg.connect(on_server) as connection:
        changed = connection.execute(
            f"UPDATE holdfast.{table} SET {column} = replace({column}, 'xxx\"', 'xxy\"')"
            f" WHERE stream IN {OF_THIS_WORKSPACE}",
            (workspace_name,),
        )
        assert changed.rowcount >= 1

    for words in (("show", "note:plan"), ("note", "more", "--to", "plan")):
        answer = holdfast(*words, "--json")
        error = answer.envelope["error"]
        assert (answer.code, error["kind"]) == (1, "journal_damaged"), words
        assert "note:plan is damaged" in error["message"]


def test_a_snapshot_that_is_not_believed_is_said(
    repository: Path, holdfast: Holdfast, on_server: str, workspace_name: str
) -> None:
    for number in range(3 + SNAPSHOT_FLOOR // 1024):
        holdfast("note", f"step {number} " + "x" * 1024, "--to", "plan")
    before = holdfast("show", "note:plan", "--json").envelope["data"]["state"]
    with psycopg.connect(on_server) as connection:
        connection.execute(
            "UPDATE holdfast.snapshots SET state = replace(state, 'step 1', 'step 2')"
            f" WHERE stream IN {OF_THIS_WORKSPACE}",
            (workspace_name,),
        )

    shown = holdfast("show", "note:plan", "--json")

    assert shown.envelope["data"]["state"] == before
    assert "The snapshot of note:plan was changed" in shown.err


def test_a_journal_of_the_first_format_is_sealed_and_read(
    empty_database: str, tmp_path: Path
) -> None:
    first = Path(connect.MIGRATIONS) / "0001_journal.sql"
    (tmp_path / first.name).write_bytes(first.read_bytes())
    with connect.ServerSession.connect(empty_database, autocommit=True) as session:
        assert connect.migrate(session, 1, str(tmp_path)) == (1, 1)
        session.execute("ALTER TABLE holdfast.snapshots ADD COLUMN digest bytea")
        session.execute("UPDATE holdfast.format SET number = 2, oldest = 2")
        journal = PostgresJournal(empty_database, "old", "one")
        write(journal, 'note:"plan"\n\u00e4', draft(), draft())
        journal.snapshot('note:"plan"\n\u00e4', 1, {"text": "\u00e4"})
        journal.close()
        session.execute("ALTER TABLE holdfast.snapshots DROP COLUMN digest")
        session.execute("ALTER TABLE holdfast.workspaces DROP COLUMN epoch, DROP COLUMN floor")
        session.execute("DROP FUNCTION holdfast.remove_settled, holdfast.refuse_jump CASCADE")
        session.execute("ALTER TABLE holdfast.outbox DROP COLUMN settled")
        session.execute("UPDATE holdfast.format SET number = 1, oldest = 1")

    journal = PostgresJournal(empty_database, "old", "one")

    assert journal.load('note:"plan"\n\u00e4')["snapshot"] == {"text": "\u00e4"}
    journal.close()


def test_a_role_that_may_not_bring_the_tables_up_to_date_is_told(
    empty_database: str, open_journal: Open
) -> None:
    first = PostgresJournal(empty_database, "old", "one")
    first.close()
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("UPDATE holdfast.format SET number = 1, oldest = 1")
        connection.execute("DROP ROLE IF EXISTS guest_of_old")
        connection.execute("CREATE ROLE guest_of_old LOGIN PASSWORD 'x'")
        connection.execute("GRANT USAGE ON SCHEMA holdfast TO guest_of_old")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO guest_of_old")
        host = empty_database.partition("@")[2]
        with pytest.raises(HoldfastError, match="may not bring it to 3") as refused:
            PostgresJournal(f"postgresql://guest_of_old:x@{host}", "old", "two")
        assert refused.value.kind == "no_right"
        connection.execute("DROP OWNED BY guest_of_old; DROP ROLE guest_of_old")
