"""`collect`: what goes, what stays, and what can be proved afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.journal.interface import Append
from holdfast.testing.journal.examples import at, draft, drafts, finding, ids, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


def given_a_long_stream(journal: Journal) -> list[str]:
    """Ten records, one a minute, a snapshot at version 8, and a newer record elsewhere."""
    written = ids(write(journal, "note:a", *drafts(10)))
    journal.snapshot("note:a", 8, {"sum": 28})
    write(journal, "note:newest", draft(when=at(0)))
    return written


def test_what_is_old_goes_and_leaves_an_anchor(journal: Journal) -> None:
    written = given_a_long_stream(journal)

    collected = journal.collect(before=at(5), keep=1)

    assert collected == {"records": 5, "streams": 1}
    assert ids(journal.read("note:a")) == written[5:]
    head = journal.head("note:a")
    assert head is not None
    assert (head["version"], head["anchor_version"]) == (10, 5)


def test_the_chain_verifies_from_its_anchor_on(journal: Journal) -> None:
    given_a_long_stream(journal)

    journal.collect(before=at(5), keep=1)

    found = finding(journal, "note:a")
    assert (found["removed"], found["records"], found["broken"]) == (5, 5, "")
    write(journal, "note:a")
    assert finding(journal, "note:a")["broken"] == ""


def test_the_state_still_loads(journal: Journal) -> None:
    written = given_a_long_stream(journal)

    journal.collect(before=at(999), keep=0)

    loaded = journal.load("note:a")
    assert (loaded["snapshot"], loaded["snapshot_version"]) == ({"sum": 28}, 8)
    assert ids(loaded["records"]) == written[8:]


def test_a_stream_without_a_snapshot_is_left_whole(journal: Journal) -> None:
    write(journal, "note:a", *drafts(10))
    write(journal, "note:newest")

    assert journal.collect(before=at(999), keep=0) == {"records": 0, "streams": 0}
    assert len(journal.read("note:a")) == 10


def test_so_many_of_the_newest_stay_whatever_their_age(journal: Journal) -> None:
    written = given_a_long_stream(journal)

    journal.collect(before=at(999), keep=6)

    assert ids(journal.read("note:a")) == written[4:]


def test_collecting_again_removes_nothing_more(journal: Journal) -> None:
    given_a_long_stream(journal)
    journal.collect(before=at(5), keep=1)

    assert journal.collect(before=at(5), keep=1) == {"records": 0, "streams": 0}
    assert finding(journal, "note:a")["broken"] == ""


def test_a_record_whose_clock_was_ahead_keeps_those_after_it(journal: Journal) -> None:
    """Only the front of a stream can go: the chain goes on from one anchor."""
    times = [at(1), at(900), at(2), at(3)]
    write(journal, "note:a", *(draft(when=when) for when in times))
    journal.snapshot("note:a", 4, {})
    write(journal, "note:newest")

    journal.collect(before=at(100), keep=0)

    assert [record["version"] for record in journal.read("note:a")] == [2, 3, 4]
    assert finding(journal, "note:a")["broken"] == ""


def test_an_ended_stream_goes_whole_once_its_end_is_old(journal: Journal) -> None:
    write(journal, "agent:a", *drafts(3))
    journal.end("agent:a", at(10))
    write(journal, "note:newest")

    assert journal.collect(before=at(11), keep=5)["records"] == 3
    found = finding(journal, "agent:a")
    assert (found["removed"], found["records"], found["broken"]) == (3, 0, "")


def test_a_stream_that_ended_lately_keeps_what_its_state_is_made_of(journal: Journal) -> None:
    written = ids(write(journal, "agent:a", *drafts(3)))
    journal.end("agent:a", at(10))
    write(journal, "note:newest")

    journal.collect(before=at(10), keep=0)

    assert ids(journal.load("agent:a")["records"]) == written


def test_the_newest_record_of_all_is_never_removed(journal: Journal) -> None:
    write(journal, "agent:a", *drafts(3))
    journal.end("agent:a", at(10))
    last_number = journal.since(0)[-1]["seq"]

    journal.collect(before=at(999), keep=0)

    assert [record["seq"] for record in journal.since(0)] == [last_number]
    assert write(journal, "note:a")[0]["seq"] > last_number


def test_a_follower_never_sees_a_number_twice(journal: Journal) -> None:
    numbers: list[int] = []
    for round in range(4):
        stream = f"agent:{round}"
        journal.commit([Append(stream, drafts(2), expected=None)])
        numbers += [record["seq"] for record in journal.since(numbers[-1] if numbers else 0)]
        journal.end(stream, at(3))
        journal.collect(before=at(999), keep=0)

    assert len(numbers) == 8
    assert numbers == sorted(set(numbers))


def test_a_removed_record_is_not_found_by_its_id(journal: Journal) -> None:
    written = given_a_long_stream(journal)

    journal.collect(before=at(5), keep=1)

    assert journal.find(written[0]) == []
    assert ids(journal.find(written[9])) == [written[9]]


def test_streams_that_are_spared_keep_everything(journal: Journal) -> None:
    written = given_a_long_stream(journal)

    assert journal.collect(before=at(999), keep=0, spared=("note:",))["records"] == 0
    assert ids(journal.read("note:a")) == written
    assert journal.collect(before=at(999), keep=0, spared=("gate:", "people:"))["records"] == 8
