"""Who may write: expected versions, fences and tombstones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from holdfast.journal.interface import Append
from holdfast.kernel.errors import Conflict, FenceLost, StreamClosed, VersionConflict
from holdfast.testing.journal.examples import at, draft, drafts, ids, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


def test_of_two_writers_with_one_expected_version_the_second_loses(journal: Journal) -> None:
    [winner] = journal.commit(
        [Append("note:plan", [draft(kind="noted", actor="Ada")], expected=0)]
    )[0]["records"]

    with pytest.raises(VersionConflict) as lost:
        journal.commit([Append("note:plan", [draft(actor="Bob")], expected=0)])

    assert "noted" in lost.value.message
    assert winner["id"][:8] in lost.value.message
    assert "by Ada" in lost.value.message
    assert lost.value.retryable
    assert ids(journal.read("note:plan")) == [winner["id"]]


def test_a_lost_race_names_the_first_winner_of_several(journal: Journal) -> None:
    first, *_ = write(journal, "note:plan", *drafts(3))

    with pytest.raises(VersionConflict) as lost:
        journal.commit([Append("note:plan", drafts(1), expected=0)])

    assert first["id"][:8] in lost.value.message


def test_expecting_a_version_that_is_not_there_yet_is_a_conflict(journal: Journal) -> None:
    write(journal, "note:plan")

    with pytest.raises(VersionConflict):
        journal.commit([Append("note:plan", drafts(1), expected=7)])
    with pytest.raises(VersionConflict):
        journal.commit([Append("note:other", drafts(1), expected=7)])


def test_a_lost_race_is_not_kept_as_a_refusal(journal: Journal) -> None:
    write(journal, "note:plan")

    with pytest.raises(VersionConflict):
        journal.commit([Append("note:plan", drafts(1), expected=0)])

    assert journal.refusals() == []


def test_of_eight_threads_with_one_expected_version_exactly_one_wins(journal: Journal) -> None:
    start = threading.Barrier(8, timeout=30)
    won: list[str] = []
    lost: list[Conflict] = []

    def race(actor: str) -> None:
        start.wait()
        try:
            journal.commit([Append("note:plan", [draft(actor=actor)], expected=0)])
            won.append(actor)
        except VersionConflict as conflict:
            lost.append(conflict)

    threads = [threading.Thread(target=race, args=(f"writer-{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    [record] = journal.read("note:plan")
    assert won == [record["actor"]]
    assert len(lost) == 7
    assert all(f"by {record['actor']}" in conflict.message for conflict in lost)


def test_fences_grow_over_all_streams(journal: Journal) -> None:
    fences = [
        journal.commit([Append(stream, drafts(1), expected=None, grant=True)])[0]["fence"]
        for stream in ("agent:a", "agent:b", "agent:a")
    ]

    assert fences == sorted(set(fences))
    heads = {head["stream"]: head["fence"] for head in journal.heads("agent:")}
    assert heads == {"agent:a": fences[2], "agent:b": fences[1]}


def test_a_life_writes_under_its_fence_and_the_records_say_so(journal: Journal) -> None:
    [life] = journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])

    journal.commit([Append("agent:a", drafts(1), expected=None, fence=life["fence"])])
    write(journal, "agent:a")

    fences = [record["fence"] for record in journal.read("agent:a")]
    assert fences == [life["fence"], life["fence"], None]


def test_a_life_that_was_taken_over_can_write_no_more(journal: Journal) -> None:
    [old] = journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])
    [new] = journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])
    tried = draft({"text": "work of the zombie"}, actor="zombie", when=at(9))

    with pytest.raises(FenceLost, match=f"fence {new['fence']} holds it now"):
        journal.commit([Append("agent:a", [tried], expected=None, fence=old["fence"])])

    assert len(journal.read("agent:a")) == 2
    [refusal] = journal.refusals("agent:a")
    assert (refusal["stream"], refusal["at"], refusal["actor"], refusal["fence"]) == (
        "agent:a",
        at(9),
        "zombie",
        old["fence"],
    )
    assert "taken over" in refusal["reason"]
    assert refusal["drafts"] == [tried]
    assert journal.refusals("agent:b") == []
    assert journal.refusals() == [refusal]


def test_a_fence_for_a_stream_that_never_began_is_refused(journal: Journal) -> None:
    with pytest.raises(FenceLost):
        journal.commit([Append("agent:a", drafts(1), expected=None, fence=1)])

    assert journal.head("agent:a") is None
    assert len(journal.refusals("agent:a")) == 1


def test_a_writer_without_a_fence_is_allowed(journal: Journal) -> None:
    journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])

    assert write(journal, "agent:a", draft(actor="person"))[0]["fence"] is None


def test_a_late_write_does_not_reopen_an_ended_stream(journal: Journal) -> None:
    write(journal, "agent:a", draft(when=at(0)))
    journal.end("agent:a", at(1))
    late = draft({"text": "too late"}, when=at(2))

    for _ in range(2):
        with pytest.raises(StreamClosed):
            journal.commit([Append("agent:a", [late], expected=None)])

    head = journal.head("agent:a")
    assert head is not None
    assert (head["closed_at"], head["version"]) == (at(1), 1)
    assert [refusal["drafts"] for refusal in journal.refusals("agent:a")] == [[late], [late]]


def test_an_ended_stream_gives_no_new_life(journal: Journal) -> None:
    write(journal, "agent:a")
    journal.end("agent:a", at(1))

    with pytest.raises(StreamClosed):
        journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])


def test_an_ended_stream_stays_ended_after_its_records_were_collected(journal: Journal) -> None:
    write(journal, "agent:a", draft(when=at(0)))
    journal.end("agent:a", at(1))
    write(journal, "note:plan", draft(when=at(500)))

    journal.collect(before=at(100), keep=0)

    assert journal.read("agent:a") == []
    with pytest.raises(StreamClosed):
        write(journal, "agent:a")
    assert len(journal.refusals("agent:a")) == 1


def test_touching_or_ending_a_stream_that_is_not_there_is_nothing(journal: Journal) -> None:
    journal.touch("agent:a", at(0))
    journal.end("agent:a", at(0))

    assert journal.head("agent:a") is None
