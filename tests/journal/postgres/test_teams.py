"""One database for several teams: row-level security, with real roles. And what a dump holds."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from holdfast.journal.chain import verify
from holdfast.journal.interface import SNAPSHOT_FLOOR, Append
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.journal.postgres.upkeep import TABLES, grants
from holdfast.kernel.errors import NotAllowed
from tests.journal.conformance.examples import at, draft, drafts, effect, view, write
from tests.journal.postgres.serve import programs

OURS, THEIRS = "example.com/ours", "example.com/theirs"


@pytest.fixture
def teams(empty_database: str) -> Iterator[Callable[[str], str]]:
    """The URL of a role that may write one workspace."""
    PostgresJournal(empty_database, OURS, "owner").close()
    names: list[str] = []
    with psycopg.connect(empty_database, autocommit=True) as connection:

        def role(workspace: str) -> str:
            names.append(f"team_{secrets.token_hex(4)}")
            connection.execute(f"CREATE ROLE {names[-1]} LOGIN PASSWORD 'agent'")
            for statement in grants(names[-1], workspaces=[workspace]):
                connection.execute(statement.encode())
            parts = urlsplit(empty_database)
            netloc = f"{names[-1]}:agent@{parts.hostname}:{parts.port}"
            return urlunsplit(parts._replace(netloc=netloc))

        yield role
        for name in names:
            connection.execute(f"DROP OWNED BY {name}")
            connection.execute(f"DROP ROLE {name}")


def fill(journal: PostgresJournal) -> int:
    """A row in every table."""
    [life] = journal.commit(
        [Append("agent:a", drafts(2), expected=0, grant=True)], views=[view()], effects=[effect()]
    )
    large = draft("x" * 2 * SNAPSHOT_FLOOR)
    journal.commit([Append("agent:a", [large], expected=2, fence=life["fence"], state={"n": 3})])
    journal.put("key", "value")
    journal.touch("agent:a", at(99))
    write(journal, "stop:workspace", draft({"reason": "r", "by": "ada"}, kind="stopped"))
    return journal.number()


def test_a_writer_of_one_team_neither_reads_nor_changes_another(
    teams: Callable[[str], str],
) -> None:
    our_url, their_url = teams(OURS), teams(THEIRS)
    ours, theirs = (
        PostgresJournal(our_url, OURS, "here"),
        PostgresJournal(their_url, THEIRS, "there"),
    )
    fill(ours)
    their_number = fill(theirs)
    [queued] = ours.effects()
    assert ours.claim(queued["id"], now=at(0), until=at(1)), "all that agents do goes on"
    with psycopg.connect(our_url, autocommit=True) as attacker:
        for table in TABLES:
            if table == "refused":
                continue
            [(rows,)] = attacker.execute(f"SELECT count(*) FROM holdfast.{table}".encode())
            assert rows, table
        for table in ("records", "streams", "meta", "views", "outbox", "refused"):
            sql = f"SELECT count(*) FROM holdfast.{table} WHERE workspace = {their_number}"
            assert attacker.execute(sql.encode()).fetchone() == (0,), table
        assert attacker.execute("SELECT id FROM holdfast.workspaces").fetchall() == [(OURS,)]
        assert attacker.execute("SELECT count(*) FROM holdfast.snapshots").fetchone() == (1,)
        stopped = attacker.execute(
            f"UPDATE holdfast.streams SET closed_at = 'x' WHERE workspace = {their_number}".encode()
        )
        assert stopped.rowcount == 0
        counted = attacker.execute("UPDATE holdfast.workspaces SET seq = seq + 1000000")
        assert counted.rowcount == 1, "its own"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            attacker.execute(
                "INSERT INTO holdfast.records (workspace, seq, id, stream, version, at, actor, kind,"
                f" body_hash, hash) VALUES ({their_number}, 99, 'x', 1, 9, '', '', 'x', '', '')".encode()
            )
    intruder = PostgresJournal(our_url, THEIRS, "here")
    assert intruder.heads() == []
    with pytest.raises(NotAllowed):
        write(intruder, "stop:workspace")
    [stop] = theirs.read("stop:workspace")
    assert stop["kind"] == "stopped"
    assert not any(finding["broken"] for finding in verify(theirs))
    for journal in (ours, theirs, intruder):
        journal.close()


def test_a_dump_that_was_restored_is_the_same_journal(empty_database: str, tmp_path: Path) -> None:
    journal = PostgresJournal(empty_database, OURS, "here")
    fill(journal)
    before = [record["hash"] for record in journal.latest(limit=100)]
    journal.close()
    dump = tmp_path / "dump.sql"
    subprocess.run([str(programs() / "pg_dump"), "--file", str(dump), empty_database], check=True)
    name = f"restored_{secrets.token_hex(6)}"
    url = urlunsplit(urlsplit(empty_database)._replace(path=f"/{name}"))
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            command = [
                str(programs() / "psql"),
                "--quiet",
                "--set",
                "ON_ERROR_STOP=1",
                "--file",
                str(dump),
                url,
            ]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ})
            copy = PostgresJournal(url, OURS, "here")
            assert [record["hash"] for record in copy.latest(limit=100)] == before
            assert not any(finding["broken"] for finding in verify(copy))
            [later] = copy.commit([Append("agent:b", drafts(1), expected=0, grant=True)])
            assert later["fence"] > 1, "a fence is not given twice"
            copy.close()
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
