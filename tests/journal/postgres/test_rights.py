"""Least privileges: a role that appends can rewrite nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from holdfast.gates.rules import gate
from holdfast.journal.chain import verify
from holdfast.journal.interface import SNAPSHOT_FLOOR, Append
from holdfast.journal.postgres import rows
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import FenceLost, NotAllowed
from holdfast.kernel.state import load, load_all
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from holdfast.maintenance import purge
from holdfast.maintenance.history import find_false_snapshots
from holdfast.testing.journal.examples import at, draft, drafts, effect, view, write
from tests.cli.conftest import Holdfast

if TYPE_CHECKING:
    from collections.abc import Callable

    Open = Callable[..., PostgresJournal]


@pytest.fixture
def role(url: str, open_journal: Open, holdfast: Holdfast) -> Iterator[Callable[..., str]]:
    """Make a role with what `holdfast admin grant` prints; its URL."""
    owner = open_journal()
    names: list[str] = []
    with psycopg.connect(owner.url, autocommit=True) as connection:

        def make(*options: str) -> str:
            names.append(f'agent"{secrets.token_hex(4)}')
            quoted = names[-1].replace('"', '""')
            connection.execute(f"""CREATE ROLE "{quoted}" LOGIN PASSWORD 'agent'""")
            where = () if "--workspace" in options else ("--all-workspaces",)
            answer = holdfast("admin", "grant", names[-1], *where, *options)
            assert answer.code == 0
            connection.execute(answer.out)
            parts = urlsplit(url)
            netloc = f"{names[-1].replace(chr(34), '%22')}:agent@{parts.hostname}:{parts.port}"
            return urlunsplit(parts._replace(netloc=netloc))

        yield make
        for name in names:
            quoted = name.replace('"', '""')
            connection.execute(f'DROP OWNED BY "{quoted}"')
            connection.execute(f'DROP ROLE "{quoted}"')


REWRITES = {
    "a body": "UPDATE holdfast.records SET body = '{}'",
    "a hash": "UPDATE holdfast.records SET hash = ''",
    "a number": "UPDATE holdfast.records SET seq = seq + 1",
    "a record": "DELETE FROM holdfast.records",
    "all records": "TRUNCATE holdfast.records",
    "where a chain begins": "UPDATE holdfast.streams SET anchor_version = version, anchor_hash = hash",
    "a stream": "DELETE FROM holdfast.streams",
    "a stream's name": "UPDATE holdfast.streams SET name = name || 'x'",
    "a workspace": "DELETE FROM holdfast.workspaces",
    "a workspace's name": "UPDATE holdfast.workspaces SET id = id || 'x'",
    "what was refused": "DELETE FROM holdfast.refused",
    "the format": "UPDATE holdfast.format SET oldest = 99",
    "the table": "ALTER TABLE holdfast.records ADD COLUMN x text",
    "a trigger": "CREATE TRIGGER t BEFORE INSERT ON holdfast.records EXECUTE FUNCTION tsvector_update_trigger()",
}


@pytest.mark.parametrize("what", REWRITES)
def test_a_writer_cannot_rewrite(what: str, role: Callable[..., str], open_journal: Open) -> None:
    write(open_journal(at=role()), "note:plan")
    with (
        psycopg.connect(role(), autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(REWRITES[what].encode())


def test_a_writer_can_do_all_that_agents_do(role: Callable[..., str], open_journal: Open) -> None:
    journal = open_journal(at=role())
    [life] = journal.commit(
        [Append("agent:a", drafts(2), expected=0, grant=True)], views=[view()], effects=[effect()]
    )
    large = draft("x" * 2 * SNAPSHOT_FLOOR)
    journal.commit(
        [Append("agent:a", [large], expected=2, fence=life["fence"], state={"steps": 3})]
    )
    journal.commit([Append("agent:a", drafts(1), expected=3, state={"steps": 4})])
    journal.touch("agent:a", at(99))
    journal.put("key", "value")
    [queued] = journal.effects()
    assert journal.claim(queued["id"], now=at(0), until=at(1))
    journal.settle(queued["id"])
    journal.end("agent:a", at(100))
    assert len(journal.read("agent:a")) == 4
    assert not journal.read_only


def test_what_only_the_owner_may_do_is_said(
    role: Callable[..., str], repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", role())
    monkeypatch.setenv("HOLDFAST_RETENTION_DAYS", "0")
    monkeypatch.setenv("HOLDFAST_RETENTION_KEEP", "0")
    written = holdfast("note", "a secret", "--json").data["id"]
    for words in (["gc"], ["purge", written, "--yes"]):
        answer = holdfast(*words, "--json")
        assert (answer.code, answer.envelope["error"]["kind"]) == (4, "no_right"), words
        assert "owner" in answer.envelope["error"]["hint"]


def test_a_reader_reads_and_nothing_else(role: Callable[..., str], open_journal: Open) -> None:
    write(open_journal(), "note:plan")
    reader = open_journal(at=role("--read-only"))
    assert reader.read_only
    assert len(reader.read("note:plan")) == 1
    with pytest.raises(NotAllowed):
        write(reader, "note:plan")


def test_doctor_fails_for_a_role_that_cannot_append(
    url: str,
    role: Callable[..., str],
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOLDFAST_URL", url)
    assert holdfast("note", "one").code == 0
    monkeypatch.setenv("HOLDFAST_URL", role("--read-only"))
    assert holdfast("note", "two").code == 4
    answer = holdfast("doctor", "--json")
    (found,) = [one for one in answer.data["checks"] if one["id"] == "writable"]
    assert (answer.code, found["status"]) == (1, "problem")
    assert "exit code 4" in found["why"]
    assert "holdfast admin grant" in found["fix"]


def test_a_role_without_any_grant_is_told_whom_to_ask(
    url: str, open_journal: Open, role: Callable[..., str]
) -> None:
    stranger = role()
    name = urlsplit(stranger).username or ""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP OWNED BY "{name.replace("%22", chr(34) * 2)}"')
    with pytest.raises(NotAllowed) as refused:
        open_journal(at=stranger)
    assert "admin grant" in refused.value.hint


@pytest.mark.parametrize("name", ["", "x" * 64, "a\nb"])
def test_a_name_that_is_none_is_refused(name: str, holdfast: Holdfast) -> None:
    assert holdfast("admin", "grant", name).code == 2


def test_a_snapshot_that_a_writer_makes_up_answers_no_gate(
    role: Callable[..., str], open_journal: Open
) -> None:
    """The writer's role may write snapshots: they save reading. What people decided is not read there."""
    opened = {
        "content": {"title": "Deploy?"},
        "asked": {"at": "2026-11-15T12:00:00Z"},
        "batch": False,
    }
    writer = open_journal(at=role())
    write(writer, "gate:deploy", draft(kind="opened", body=opened))
    answered = {**gate.initial("gate:deploy"), **opened, "answer": {"verdict": "yes"}}
    with psycopg.connect(writer.url, autocommit=True) as connection:
        connection.execute(
            rows.SNAPSHOT,
            (
                *writer.session()
                .execute(
                    "SELECT number, version FROM holdfast.streams WHERE name = 'gate:deploy'"
                    " AND workspace = %s",
                    (writer.number(),),
                )
                .fetchall()[0],
                canonical_json.dumps(answered),
            ),
        )
    reader = open_journal("two")
    assert reader.load("gate:deploy")["snapshot"]["answer"] == {"verdict": "yes"}
    assert load(reader, gate, "gate:deploy")[0]["answer"] is None
    ((state, _),) = load_all(reader, gate, "gate:")
    assert state["answer"] is None
    assert find_false_snapshots(reader) == ["gate:deploy"]


def test_a_fence_that_a_writer_sets_in_a_row_brings_no_old_life_back(
    url: str, role: Callable[..., str], open_journal: Open
) -> None:
    """The writer's role advances a stream's row, its fence too, and takes none back. The records say which life
    holds it."""
    writer = open_journal(at=role())
    [old] = writer.commit([Append("agent:a", drafts(1), expected=0, grant=True)])
    [new] = writer.commit([Append("agent:a", drafts(1), expected=1, grant=True)])
    lower = "UPDATE holdfast.workspaces SET fence = 0"
    with (
        psycopg.connect(writer.url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(lower)
    with psycopg.connect(url, autocommit=True) as connection:  # its owner may
        connection.execute(
            "UPDATE holdfast.streams SET fence = %s WHERE name = 'agent:a' AND workspace = %s",
            (old["fence"], writer.number()),
        )
        connection.execute(
            "UPDATE holdfast.workspaces SET fence = 0 WHERE number = %s", (writer.number(),)
        )
    reader = open_journal("two")
    loaded = reader.load("agent:a")["head"]
    assert loaded is not None
    assert loaded["fence"] == new["fence"]
    for journal in (writer, reader):  # the short way, and the long one
        with pytest.raises(FenceLost):
            journal.commit([Append("agent:a", drafts(1), expected=2, fence=old["fence"])])
    assert any("its records say" in finding["broken"] for finding in verify(reader))
    [third] = reader.commit([Append("agent:a", drafts(1), expected=2, grant=True)])
    assert third["fence"] > new["fence"], "never given twice"
    [fourth] = writer.commit([Append("agent:b", drafts(1), expected=0, grant=True)])
    assert fourth["fence"] > third["fence"]


def test_the_owner_purges_names_actors_and_ids(
    on_server: str, repository: Path, holdfast: Holdfast, workspace_name: str
) -> None:
    """They are part of the chain: the stream is sealed anew, and verifies."""
    secret = "hunter22secret"
    workspace = discover(str(repository))
    assert holdfast("note", "first").code == 0
    journal = workspace.journal
    command = {"add": "a note", "by": "Ada"}
    open_writer(workspace).execute(f"note:{secret}", command, actor=secret, now=clock.now())
    journal.put("key", f"about {secret}")
    found = purge.find(workspace, text=secret, now=clock.now())
    done = purge.erase(workspace, found, text=secret, actor="x", now=clock.now())
    assert done["left"] == []
    with psycopg.connect(on_server, autocommit=True) as connection:
        for table in ("records", "streams", "views", "outbox", "refused", "meta", "workspaces"):
            sql = f"SELECT count(*) FROM holdfast.{table} t WHERE t::text LIKE %s"
            assert connection.execute(sql.encode(), (f"%{secret}%",)).fetchone() == (0,), table
    assert holdfast("verify").code == 0
    assert "note:[purged]" in [head["stream"] for head in discover(".").journal.heads()]
