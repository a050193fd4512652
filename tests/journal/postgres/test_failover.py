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
from holdfast.kernel.errors import FenceLost, ServerChanged, StoreAway
from holdfast.testing.journal.examples import drafts
from tests.cli.conftest import Holdfast
from tests.gates.person import does
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


def promote(first: Server, second: Server) -> PostgresJournal:
    take_over(first, second)
    return lead(second)


def test_no_fence_is_given_again_and_no_life_from_before_writes(
    servers: tuple[Server, Server],
) -> None:
    """The copy lacks that the life was taken over: neither the old life nor the new one writes on it."""
    first, second = servers
    journal = lead(first)
    old = begin(journal)
    journal.close()
    copy_of(first, second)
    journal = lead(first)
    new = begin(journal)
    assert new > old
    journal.close()

    journal = promote(first, second)

    for _ in range(2):  # the long way, and the short one
        with pytest.raises(ServerChanged) as refused:
            beat(journal, old)
        assert (refused.value.exit_code, refused.value.retryable) == (5, True)
    with pytest.raises(FenceLost):
        beat(journal, new)
    assert journal.waiting_lives() == ["agent:a"]
    later = begin(journal)
    assert later > new
    beat(journal, later)
    for fence in (old, new):
        with pytest.raises(FenceLost):
            beat(journal, fence)
    assert journal.waiting_lives() == []
    journal.close()


def test_a_backup_that_is_started_as_it_is_gives_no_fence_again(
    servers: tuple[Server, Server],
) -> None:
    """The same cluster and timeline: nothing but the time tells it from the server that it replaces."""
    first, second = servers
    journal = lead(first)
    begin(journal)
    journal.close()
    copy_of(first, second)
    (second.data / "standby.signal").unlink()
    journal = lead(first)
    lost = begin(journal)
    journal.close()
    first.stop()
    second.start()
    journal = lead(second)

    assert begin(journal) > lost
    with pytest.raises(FenceLost):
        beat(journal, lost)
    journal.close()


def test_a_connection_from_before_the_copy_took_over_knows_that_it_did(
    servers: tuple[Server, Server],
) -> None:
    first, second = servers
    journal = lead(first)
    old = begin(journal)
    journal.close()
    copy_of(first, second)
    first.stop()
    second.start()
    journal = lead(second)
    assert journal.read_only
    with pytest.raises(StoreAway):
        beat(journal, old)
    with psycopg.connect(second.url("postgres"), autocommit=True) as connection:
        connection.execute("SELECT pg_promote()")
    with pytest.raises(ServerChanged):
        beat(journal, old)
    journal.close()


def test_a_promotion_is_known_where_the_number_of_the_cluster_is_hidden(
    servers: tuple[Server, Server],
) -> None:
    first, second = servers
    with psycopg.connect(first.url("postgres"), autocommit=True) as connection:
        connection.execute("REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC")
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT CREATE ON DATABASE postgres TO guest")
    guests = [PostgresJournal(first.url("postgres", "guest"), "team", "here")]
    old = begin(guests[0])
    guests[0].close()
    copy_of(first, second)
    take_over(first, second)
    guests.append(PostgresJournal(second.url("postgres", "guest"), "team", "here"))
    with pytest.raises(ServerChanged):
        beat(guests[1], old)
    guests[1].close()


def test_what_has_no_life_goes_on_after_a_failover(servers: tuple[Server, Server]) -> None:
    first, second = servers
    journal = lead(first)
    journal.commit([Append("note:plan", drafts(1), expected=0)])
    journal.close()
    copy_of(first, second)
    journal = promote(first, second)
    journal.commit([Append("note:plan", drafts(1), expected=1)])
    assert len(journal.read("note:plan")) == 2
    journal.close()


def test_a_person_lets_the_lives_go_on(
    servers: tuple[Server, Server],
    repository: Path,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing was missing. Until then the agent is refused, and `doctor --fix` without a person changes nothing."""
    first, second = servers
    with Network(first.url("postgres")) as network:
        monkeypatch.setenv("HOLDFAST_URL", network.url)
        monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", "team")
        assert holdfast("agent", "start", "Secondary-A", "--feature", "feature_02").code == 0
        copy_of(first, second)
        take_over(first, second)
        network.move_to(second.url("postgres"))
        refused = holdfast("agent", "beat", "Secondary-A", "--step", "on", "--json")
        assert (refused.code, refused.envelope["error"]["kind"]) == (5, "server_changed")
        assert "doctor --fix" in refused.envelope["error"]["hint"]
        found = holdfast("doctor", "--fix", "--json").data["checks"]
        (lives,) = [one for one in found if one["id"] == "lives"]
        assert lives["status"] == "warning"
        assert "agent:secondary_a" in lives["what"]
        assert holdfast("agent", "beat", "Secondary-A", "--step", "on").code == 5
        assert does("doctor", "--fix").code == 0
        assert holdfast("agent", "beat", "Secondary-A", "--step", "on").code == 0


def test_without_a_failover_no_writer_names_itself_a_later_life(
    servers: tuple[Server, Server],
) -> None:
    journal = lead(servers[0])
    held = begin(journal)
    with pytest.raises(FenceLost):
        beat(journal, held + 1)
    beat(journal, held)
    journal.close()


def test_another_workspace_of_the_server_has_lost_nothing(
    repository: Path, holdfast: Holdfast, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone that is told another name of its workspace, which has fewer records."""
    monkeypatch.setenv("HOLDFAST_URL", url)
    for name in ("many", "few", "many"):
        monkeypatch.setenv("HOLDFAST_JOURNAL_WORKSPACE", f"{repository}/{name}")
        for number in range(3 if name == "many" else 1):
            said = holdfast("note", f"{number}")
            assert (said.code, "lost records" in said.err) == (0, False)


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
