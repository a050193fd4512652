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
from holdfast.journal.postgres import connect
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.journal.postgres.upkeep import TABLES, grants
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.testing.journal.examples import at, draft, drafts, effect, view, write
from tests.cli.conftest import Holdfast
from tests.journal.postgres.serve import programs

OURS, THEIRS = "example.com/ours", "example.com/theirs"


@pytest.fixture
def teams(empty_database: str) -> Iterator[Callable[..., str]]:
    """The URL of a role that may write one workspace."""
    PostgresJournal(empty_database, OURS, "owner").close()
    names: list[str] = []
    with psycopg.connect(empty_database, autocommit=True) as connection:

        def role(*workspaces: str, read_only: bool = False) -> str:
            names.append(f"team_{secrets.token_hex(4)}")
            connection.execute(f"CREATE ROLE {names[-1]} LOGIN PASSWORD 'agent'")
            for statement in grants(names[-1], read_only=read_only, workspaces=workspaces):
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
    teams: Callable[..., str],
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
        counted = attacker.execute("UPDATE holdfast.workspaces SET seq = seq + 1000")
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


ONE_STATEMENT = {
    "a lock on a table": "LOCK TABLE holdfast.outbox IN ACCESS EXCLUSIVE MODE",
    "a lock on the records": "LOCK TABLE holdfast.records IN SHARE MODE",
    "the last number of a record": "UPDATE holdfast.workspaces SET seq = 9223372036854775807",
    "the last fence": "UPDATE holdfast.workspaces SET fence = 9223372036854775807",
    "a fence from before": "UPDATE holdfast.workspaces SET fence = 0",
    "the last version of each stream": "UPDATE holdfast.streams SET version = 9223372036854775807",
    "an older version of each stream": "UPDATE holdfast.streams SET version = 0",
    "every effect": "DELETE FROM holdfast.outbox",
    "the stream of a view": "UPDATE holdfast.views SET worktree = 'x'",
    "the key of a value": "UPDATE holdfast.meta SET key = key || 'x'",
    "the stream of a snapshot": "UPDATE holdfast.snapshots SET stream = stream + 1",
    "a trigger": "ALTER TABLE holdfast.streams DISABLE TRIGGER ALL",
    "row-level security": "ALTER TABLE holdfast.records DISABLE ROW LEVEL SECURITY",
    "a policy of its own": "CREATE POLICY all_of_it ON holdfast.records USING (true)",
    "another's role": "SET ROLE keeper",
}


@pytest.mark.parametrize("what", ONE_STATEMENT)
def test_a_writer_stops_nobody_with_one_statement(what: str, teams: Callable[..., str]) -> None:
    ours = PostgresJournal(teams(OURS), OURS, "here")
    fill(ours)
    with (
        psycopg.connect(ours.url, autocommit=True) as attacker,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        attacker.transaction(),
    ):
        attacker.execute(ONE_STATEMENT[what].encode())
    write(ours, "note:plan")
    ours.close()


def test_a_writer_takes_no_place_in_the_stream_of_another_team(teams: Callable[..., str]) -> None:
    """A record under its own workspace, at the version that another's stream has next."""
    ours = PostgresJournal(teams(OURS), OURS, "here")
    theirs = PostgresJournal(teams(THEIRS), THEIRS, "there")
    fill(ours)
    write(theirs, "note:plan")
    [(stream,)] = theirs.session().execute(
        "SELECT number FROM holdfast.streams WHERE name = 'note:plan'"
    )
    with (
        psycopg.connect(ours.url, autocommit=True) as attacker,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        attacker.execute(
            "INSERT INTO holdfast.records (workspace, seq, id, stream, version, at, actor, kind, body_hash,"
            " hash) VALUES (%s, 99, 'x', %s, 2, '', '', 'x', '', '')",
            (ours.number(), stream),
        )
    write(theirs, "note:plan")
    for journal in (ours, theirs):
        journal.close()


def test_a_reader_of_one_workspace_reads_it_alone(teams: Callable[..., str]) -> None:
    for name in (OURS, THEIRS):
        journal = PostgresJournal(teams(name), name, "here")
        fill(journal)
        journal.close()
    reader = PostgresJournal(teams(OURS, read_only=True), OURS, "reader")
    assert len(reader.read("agent:a")) == 3
    assert reader.others() == []
    with pytest.raises(NotAllowed):
        write(reader, "note:plan")
    reader.close()


def test_a_role_without_a_grant_of_workspaces_sees_nothing(
    teams: Callable[..., str], empty_database: str
) -> None:
    journal = PostgresJournal(teams(OURS), OURS, "here")
    fill(journal)
    journal.close()
    name = f"team_{secrets.token_hex(4)}"
    parts = urlsplit(empty_database)
    url = urlunsplit(parts._replace(netloc=f"{name}:agent@{parts.hostname}:{parts.port}"))
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'agent'")
        connection.execute(f"GRANT USAGE ON SCHEMA holdfast TO {name}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO {name}")
        with psycopg.connect(url, autocommit=True) as stranger:
            for table in TABLES:
                sql = f"SELECT count(*) FROM holdfast.{table}"
                assert stranger.execute(sql.encode()).fetchone() == (0,), table
        connection.execute(f"DROP OWNED BY {name}")
        connection.execute(f"DROP ROLE {name}")


def make_format_two(url: str, tmp_path: Path, role: str) -> None:
    """The database of an earlier version, with a writer as it granted one."""
    session = psycopg.connect(url, autocommit=True)
    for script in sorted(Path(connect.MIGRATIONS).glob("*.sql"))[:2]:
        (tmp_path / script.name).write_bytes(script.read_bytes())
    assert connect.migrate(session, 2, str(tmp_path)) == (2, 2)  # type: ignore[arg-type]
    session.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'agent'".encode())
    session.execute(f"GRANT USAGE ON SCHEMA holdfast TO {role}".encode())
    session.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO {role}".encode())
    session.execute(
        f"GRANT INSERT, UPDATE ON holdfast.meta, holdfast.streams, holdfast.workspaces TO {role}".encode()
    )
    session.execute(f"GRANT INSERT ON holdfast.records TO {role}".encode())
    session.close()


def test_a_role_of_an_earlier_version_keeps_its_workspaces_until_it_is_granted_again(
    empty_database: str,
    tmp_path: Path,
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"team_{secrets.token_hex(4)}"
    make_format_two(empty_database, tmp_path, name)
    parts = urlsplit(empty_database)
    url = urlunsplit(parts._replace(netloc=f"{name}:agent@{parts.hostname}:{parts.port}"))
    with pytest.raises(NotAllowed) as refused:
        PostgresJournal(url, OURS, "early")
    assert "owner" in refused.value.hint
    for workspace in (OURS, THEIRS):
        owner = PostgresJournal(empty_database, workspace, "owner")
        write(owner, "note:plan")
        owner.close()
    with psycopg.connect(empty_database, autocommit=True) as connection:
        early = PostgresJournal(url, OURS, "early")
        write(early, "note:plan")
        assert early.others() == [THEIRS]
        assert "all workspaces" in early.role()[1]
        early.close()
        monkeypatch.setenv("HOLDFAST_URL", url)
        monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", OURS)
        (found,) = [
            one for one in holdfast("doctor", "--json").data["checks"] if one["id"] == "role"
        ]
        assert (found["status"], found["why"]) == ("warning", "It was granted all workspaces.")
        answer = holdfast("admin", "grant", name)
        connection.execute(answer.out.encode())
        early = PostgresJournal(url, OURS, "early")
        write(early, "note:plan")
        assert (early.others(), early.role()) == ([], (name, ""))
        early.close()
        (found,) = [
            one for one in holdfast("doctor", "--json").data["checks"] if one["id"] == "role"
        ]
        assert found["status"] == "ok"
        connection.execute(f"DROP OWNED BY {name}".encode())
        connection.execute(f"DROP ROLE {name}".encode())


def test_an_older_holdfast_is_refused_beside_the_new_one(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would give fences that a failover gives again, and let every life go on after one."""
    PostgresJournal(empty_database, OURS, "new").close()
    monkeypatch.setattr(connect, "FORMAT", 2)
    with pytest.raises(HoldfastError) as refused:
        PostgresJournal(empty_database, OURS, "old")
    assert refused.value.kind == "newer_format"


def test_doctor_says_that_a_role_bypasses_row_level_security(
    empty_database: str, repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for workspace in (OURS, THEIRS):
        owner = PostgresJournal(empty_database, workspace, "owner")
        write(owner, "note:plan")
        owner.close()
    monkeypatch.setenv("HOLDFAST_URL", empty_database)
    monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", OURS)
    (found,) = [one for one in holdfast("doctor", "--json").data["checks"] if one["id"] == "role"]
    assert found["status"] == "warning"
    assert "bypasses row-level security: it sees and writes 2 workspaces" in found["what"]
    assert found["why"] == "It is a superuser."


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
