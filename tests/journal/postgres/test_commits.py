"""Commits on a server: their order, and what becomes of one whose connection dies."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from holdfast.fleet.rules.model import EPIC_README
from holdfast.journal.interface import Append
from holdfast.journal.postgres import connect, rows
from holdfast.kernel.errors import StoreAway, VersionConflict
from holdfast.testing.journal.examples import at, draft, drafts, effect, finding, view, write
from tests.journal.postgres.proxy import Network

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.journal.interface import Receipt
    from holdfast.journal.postgres.journal import PostgresJournal

    Open = Callable[..., PostgresJournal]


def test_a_sequence_would_let_a_follower_miss_what_commits_late(url: str) -> None:
    """Why the numbers do not come from one: the trap itself, with PostgreSQL's own means."""
    with (
        psycopg.connect(url) as slow,
        psycopg.connect(url) as quick,
        psycopg.connect(url, autocommit=True) as follower,
    ):
        follower.execute("CREATE TABLE IF NOT EXISTS public.naive (seq bigserial, who text)")
        follower.execute("TRUNCATE public.naive RESTART IDENTITY")
        slow.execute("INSERT INTO public.naive (who) VALUES ('slow')")
        quick.execute("INSERT INTO public.naive (who) VALUES ('quick')")
        quick.commit()
        seen = follower.execute("SELECT seq, who FROM public.naive").fetchall()
        slow.commit()
        seen += follower.execute(
            "SELECT seq, who FROM public.naive WHERE seq > %s", (seen[-1][0],)
        ).fetchall()
        assert [who for _, who in seen] == ["quick"]


def test_a_follower_sees_what_commits_late(
    open_journal: Open, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick, follower = open_journal(), open_journal(), open_journal()
    write(slow, "note:start")
    has_its_number, may_commit = threading.Event(), threading.Event()
    real = rows.store_views

    def store_views(*given: Any) -> None:
        real(*given)
        if threading.current_thread().name == "slow":
            has_its_number.set()
            assert may_commit.wait(30)

    monkeypatch.setattr(rows, "store_views", store_views)
    threads = [
        threading.Thread(target=write, args=(journal, f"note:{name}"), name=name)
        for name, journal in (("slow", slow), ("quick", quick))
    ]
    threads[0].start()
    assert has_its_number.wait(30)
    threads[1].start()
    _await(lambda: _waiting_for_locks(url) > 0)
    seen = follower.since(0)
    may_commit.set()
    for thread in threads:
        thread.join()
    seen += follower.since(seen[-1]["seq"])

    assert [record["stream"] for record in seen] == ["note:start", "note:slow", "note:quick"]
    assert [record["seq"] for record in seen] == [1, 2, 3]


def _waiting_for_locks(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
    assert row is not None
    return int(row[0])


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def do_nothing() -> None: ...


def in_one_statement(
    journal: PostgresJournal, before: Callable[[], None] = do_nothing
) -> list[Receipt]:
    """As an agent's next step is written."""
    head = journal.load("note:plan")["head"]
    version = head["version"] if head else 0
    before()
    return journal.commit([Append("note:plan", [draft({"text": "next"})], expected=version)])


def in_a_transaction(
    journal: PostgresJournal, before: Callable[[], None] = do_nothing
) -> list[Receipt]:
    """As a session's step is written, with its views and effects."""
    append = Append("note:plan", [draft({"text": "next"}), draft()], expected=None, grant=True)
    before()
    return journal.commit([append], views=[view()], effects=[effect()])


@pytest.mark.parametrize("commit", [in_one_statement, in_a_transaction])
@pytest.mark.parametrize("trouble", ["lost_answers", "lost_requests"])
def test_a_connection_that_dies_in_a_commit_neither_loses_nor_doubles_it(
    open_journal: Open,
    network: Network,
    commit: Callable[..., list[Receipt]],
    trouble: str,
) -> None:
    """Did it land? With a lost answer it did, with a lost request it did not; both end alike."""
    journal = open_journal(at=network.url)
    write(journal, "note:plan")

    [receipt] = commit(journal, before=lambda: setattr(network, trouble, 1))

    assert getattr(network, trouble) == 0
    assert not receipt["duplicate"]
    records = journal.read("note:plan")
    assert records[1:] == receipt["records"]
    assert receipt["version"] == records[-1]["version"] == len(records)
    assert finding(journal, "note:plan")["broken"] == ""


def test_a_connection_that_was_cut_is_replaced_without_a_word(
    open_journal: Open, network: Network
) -> None:
    journal = open_journal(at=network.url)
    write(journal, "note:plan")
    network.cut()
    assert len(journal.read("note:plan")) == 1
    network.cut()
    write(journal, "note:plan")
    assert len(journal.read("note:plan")) == 2


def test_a_server_that_ends_our_session_is_asked_again(open_journal: Open, url: str) -> None:
    journal = open_journal()
    write(journal, "note:plan")
    pid = journal.session().info.backend_pid
    with psycopg.connect(url) as keeper:
        keeper.execute("SELECT pg_terminate_backend(%s)", (pid,))
    write(journal, "note:plan")
    assert len(journal.read("note:plan")) == 2


@pytest.mark.parametrize("commit", [in_one_statement, in_a_transaction])
def test_a_session_that_is_killed_in_the_middle_of_its_commit_is_asked_again(
    open_journal: Open, url: str, commit: Callable[[PostgresJournal], list[Receipt]]
) -> None:
    """The server ends it while it waits for the workspace's row: nothing of it has landed, and the
    same again, on a new connection, lands once."""
    journal, held = open_journal(), open_journal("another")
    write(journal, "note:plan")
    receipts: list[list[Receipt]] = []
    committing = threading.Thread(target=lambda: receipts.append(commit(journal)))
    with held.alone(2):
        committing.start()
        _await(lambda: _killed_while_waiting(url) > 0)
    committing.join(60)
    [[receipt]] = receipts
    assert not receipt["duplicate"]
    assert journal.read("note:plan")[1:] == receipt["records"]
    assert finding(journal, "note:plan")["broken"] == ""


def _killed_while_waiting(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as keeper:
        found = keeper.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return len(found.fetchall())


def test_a_writer_that_vanished_in_its_commit_counts_as_idle(
    open_journal: Open, network: Network, url: str
) -> None:
    """The server frees the workspace's row only from a session that it counts as idle."""
    journal = open_journal(at=network.url)
    write(journal, "note:plan")
    pid = journal.session().info.backend_pid
    states: list[Any] = []

    def watch() -> None:
        with psycopg.connect(url, autocommit=True) as keeper:
            # For a moment it reads the rest of what was sent, and is active.
            idle = ["idle in transaction"]
            with contextlib.suppress(AssertionError):
                _await(lambda: _waiting_inside(keeper, pid) == idle)
            states.extend(_waiting_inside(keeper, pid))
        network.swallows_answers = False
        network.cut()

    watching = threading.Thread(target=watch)

    def begin() -> None:
        network.swallows_answers = True
        watching.start()

    in_a_transaction(journal, before=begin)
    watching.join()
    assert states == ["idle in transaction"]
    assert len(journal.read("note:plan")) == 3


def _waiting_inside(keeper: psycopg.Connection, pid: int) -> list[str]:
    """The state of a session that waits for its client in the middle of a transaction."""
    found = keeper.execute(
        "SELECT state FROM pg_stat_activity"
        " WHERE pid = %s AND wait_event = 'ClientRead' AND xact_start IS NOT NULL",
        (pid,),
    )
    return [row[0] for row in found]


def test_a_server_that_swallows_everything_is_away_after_a_while(
    open_journal: Open, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal(at=network.url + "?connect_timeout=2")
    write(journal, "note:plan")
    monkeypatch.setattr(connect, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(connect, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(connect, "PATIENCE_SECONDS", 0.1)
    network.swallows = True
    with pytest.raises(StoreAway) as away:
        journal.read("note:plan")
    assert away.value.exit_code == 75
    assert away.value.retryable


def test_machines_that_write_at_once_conflict_by_version(open_journal: Open) -> None:
    here, there = open_journal("here"), open_journal("there")
    write(here, "note:plan")
    here.load("note:plan")
    there.load("note:plan")
    there.commit([Append("note:plan", drafts(1), expected=1)])

    with pytest.raises(VersionConflict):
        here.commit([Append("note:plan", drafts(1), expected=1)])

    assert here.load("note:plan")["head"] == there.load("note:plan")["head"]
    here.commit([Append("note:plan", drafts(1), expected=2)])


def test_of_many_writers_each_record_is_there_once_and_in_order(open_journal: Open) -> None:
    def add(journal: PostgresJournal, count: int) -> None:
        for _ in range(count):
            write(journal, "note:shared")

    journals = [open_journal(f"machine {number}") for number in range(6)]
    threads = [threading.Thread(target=add, args=(journal, 20)) for journal in journals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    records = journals[0].since(0)
    assert [record["seq"] for record in records] == list(range(1, 121))
    assert [record["version"] for record in records] == list(range(1, 121))
    assert finding(journals[0], "note:shared")["broken"] == ""


def test_the_short_way_goes_on_after_a_rollback(open_journal: Open) -> None:
    """psycopg then has the server forget every statement that was given a name, ours too."""
    journal = open_journal()
    write(journal, "note:plan")
    for _ in range(2):
        for _ in range(12):
            in_one_statement(journal)
            journal.load("note:plan")
        with pytest.raises(VersionConflict):
            journal.commit([Append("note:plan", [draft(), draft()], expected=1)])
        with journal.alone(2):
            in_one_statement(journal)
    assert finding(journal, "note:plan")["broken"] == ""
    assert len(journal.read("note:plan")) == 27


def test_files_and_moves_belong_to_their_machine(open_journal: Open) -> None:
    here, there = open_journal("here"), open_journal("there")
    moving, telling = effect("a", kind="move"), effect("b", kind="comment")
    news = effect("c", kind=EPIC_README)
    here.commit([], views=[view()], effects=[moving, telling, news])

    assert here.views() == [view()]
    assert there.views() == []
    assert {one["kind"] for one in here.effects()} == {"move", "comment", EPIC_README}
    assert [one["kind"] for one in there.effects()] == ["comment"]


def test_workspaces_of_one_database_do_not_see_each_other(
    open_journal: Open, url: str, workspace_name: str
) -> None:
    from holdfast.journal.postgres.journal import PostgresJournal

    ours = open_journal()
    known = draft()
    other = PostgresJournal(url, f"{workspace_name}/other", "one")
    for journal in (ours, other):
        write(journal, "note:plan", known)
        journal.put("key", journal.workspace)

    assert ours.since(0)[0]["hash"] != other.since(0)[0]["hash"]
    assert len(ours.heads()) == len(other.latest()) == len(other.find(known["id"])) == 1
    assert ours.get("key") == workspace_name
    ours.end("note:plan", at(1))
    assert other.head("note:plan") is not None
    write(other, "note:plan")
    other.close()


def test_a_reader_registers_no_workspace(open_journal: Open) -> None:
    journal = open_journal()
    assert journal.since(0) == []
    assert journal.heads() == []
    journal.touch("agent:a", at(0))
    assert journal.number() == 0
    write(journal, "note:plan")
    assert journal.number() > 0


def test_who_waits_outlives_a_connection_that_is_cut(open_journal: Open, network: Network) -> None:
    reader, writer = open_journal(at=network.url), open_journal("another")
    [record] = write(writer, "note:plan")
    for delay, action in ((0.2, network.cut), (0.6, lambda: write(writer, "note:plan"))):
        threading.Timer(delay, action).start()

    assert reader.wait(record["seq"], 60)
