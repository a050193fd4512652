"""A copy of the server takes over without its last records."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from holdfast.journal.interface import Append
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.kernel.errors import FenceLost
from tests.cli.conftest import Holdfast
from tests.journal.conformance.examples import drafts
from tests.journal.postgres.proxy import Network
from tests.journal.postgres.serve import Server


def lead(server: Server) -> PostgresJournal:
    return PostgresJournal(server.url("postgres"), "team", "here")


def begin(journal: PostgresJournal) -> int:
    [receipt] = journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])
    return receipt["fence"]


def beat(journal: PostgresJournal, fence: int) -> None:
    journal.commit([Append("agent:a", drafts(1), expected=None, fence=fence)])


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    """A server, and one whose data will be a copy of it."""
    with tempfile.TemporaryDirectory(prefix="holdfast-failover-") as folder:
        Path(folder).chmod(0o755)
        first, second = Server(Path(folder) / "first"), Server(Path(folder) / "second")
        first.make()
        first.start()
        yield first, second
        first.stop()
        second.stop()


def copy_of(first: Server, second: Server) -> None:
    """The data as it is now, as a copy that follows another server has it."""
    first.stop()
    second.folder.mkdir()
    shutil.copytree(first.data, second.data)
    (second.data / "standby.signal").touch()
    owner = first.data.stat()
    for path in (second.folder, second.data, *second.data.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    first.start()


def take_over(first: Server, second: Server) -> None:
    first.stop()
    second.start()
    with psycopg.connect(second.url("postgres"), autocommit=True) as connection:
        connection.execute("SELECT pg_promote()")


def test_a_fence_is_not_given_again_and_the_later_life_goes_on(
    servers: tuple[Server, Server],
) -> None:
    first, second = servers
    journal = lead(first)
    old = begin(journal)
    journal.close()
    copy_of(first, second)
    journal = lead(first)
    new = begin(journal)
    assert new > old
    journal.close()

    take_over(first, second)
    journal = lead(second)

    beat(journal, new)
    with pytest.raises(FenceLost):
        beat(journal, old)
    beat(journal, new)
    [other] = journal.commit([Append("agent:b", drafts(1), expected=None, grant=True)])
    assert other["fence"] not in (old, new)
    assert other["fence"] > new
    journal.close()


def test_without_a_failover_no_writer_names_itself_a_later_life(
    servers: tuple[Server, Server],
) -> None:
    journal = lead(servers[0])
    held = begin(journal)
    with pytest.raises(FenceLost):
        beat(journal, held + 1)
    beat(journal, held)
    journal.close()


def test_a_machine_says_that_the_server_lost_records(
    servers: tuple[Server, Server],
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second server takes over without a note that was acknowledged, under the same address."""
    first, second = servers
    with Network(first.url("postgres")) as network:
        monkeypatch.setenv("HOLDFAST_URL", network.url)
        monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", "team")
        assert holdfast("note", "the copy has this one").code == 0
        copy_of(first, second)
        assert holdfast("note", "the copy lacks this one").code == 0
        assert "lost records" not in holdfast("status").out
        take_over(first, second)
        network.move_to(second.url("postgres"))
        said = holdfast("note", "and the next command says so")
        assert said.code == 0
        assert "The server lost records: this machine had seen it at record 2" in said.err
        assert "The server lost records" in holdfast("status").out
        assert "The server lost records" in holdfast("doctor").out
        assert "lost records" not in holdfast("note", "said once").err
        shown = holdfast("show", "note:default").out
        assert "the copy lacks this one" in shown, "its file still showed it, and it came back"
