"""Appending, and the ids that make a repetition harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.journal.interface import Append
from holdfast.kernel.errors import HoldfastError, StreamClosed, VersionConflict
from holdfast.testing.journal.examples import at, draft, drafts, effect, ids, view, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Receipt


def test_what_was_appended_can_be_read_back(journal: Journal) -> None:
    first = draft({"text": "über", "n": [1, 2.5, None, True]}, actor="Ada", when=at(3))
    second = draft({"text": "more"}, kind="edited", actor="Bob", when=at(4))

    [receipt] = journal.commit([Append("note:plan", [first, second], expected=0)])

    assert (receipt["stream"], receipt["version"], receipt["duplicate"]) == ("note:plan", 2, False)
    assert receipt["records"] == journal.read("note:plan")
    for version, (record, given) in enumerate(
        zip(receipt["records"], [first, second], strict=True), start=1
    ):
        assert record["version"] == version
        assert not record["erased"]
        for field in ("id", "kind", "body", "at", "actor"):
            assert record[field] == given[field]


def test_a_stream_that_is_not_there_is_empty(journal: Journal) -> None:
    assert journal.read("note:plan") == []
    assert journal.head("note:plan") is None
    assert journal.load("note:plan") == {
        "head": None,
        "snapshot": None,
        "snapshot_version": 0,
        "records": [],
        "is_rebuilt": False,
    }


def test_versions_of_a_stream_have_no_gaps_and_numbers_grow(journal: Journal) -> None:
    written = [record for name in "abab" for record in write(journal, f"note:{name}")]

    assert [(record["stream"], record["version"]) for record in written] == [
        ("note:a", 1),
        ("note:b", 1),
        ("note:a", 2),
        ("note:b", 2),
    ]
    numbers = [record["seq"] for record in written]
    assert numbers == sorted(set(numbers))


def test_a_record_handed_out_is_the_readers_own(journal: Journal) -> None:
    write(journal, "note:plan", draft({"words": ["a"]}))

    journal.read("note:plan")[0]["body"]["words"].append("b")

    assert journal.read("note:plan")[0]["body"] == {"words": ["a"]}


def test_the_same_append_again_is_a_no_op_with_the_same_answer(journal: Journal) -> None:
    append = Append("note:plan", drafts(3), expected=0)
    [original] = journal.commit([append])

    [again] = journal.commit([append])

    assert again["duplicate"]
    assert again["records"] == original["records"]
    assert again["version"] == 3
    assert journal.read("note:plan") == original["records"]


def test_a_lost_answer_is_asked_for_again(journal: Journal) -> None:
    append = Append("note:plan", drafts(2), expected=0, grant=True)

    def commit_and_lose_the_answer() -> list[Receipt]:
        journal.commit([append], effects=[effect()], views=[view()])
        raise ConnectionError("the answer was lost")

    with pytest.raises(ConnectionError):
        commit_and_lose_the_answer()
    [receipt] = journal.commit([append], effects=[effect()], views=[view()])

    assert receipt["duplicate"]
    assert ids(receipt["records"]) == [one["id"] for one in append.drafts]
    assert len(journal.read("note:plan")) == 2
    head = journal.head("note:plan")
    assert head is not None
    assert receipt["fence"] == head["fence"]
    assert len(journal.effects()) == 1


def test_a_repetition_is_known_after_others_moved_the_version_on(journal: Journal) -> None:
    append = Append("note:plan", drafts(1), expected=0)
    [original] = journal.commit([append])
    write(journal, "note:plan")

    [again] = journal.commit([append])

    assert again["duplicate"]
    assert again["records"] == original["records"]
    assert len(journal.read("note:plan")) == 2


def test_a_repetition_is_known_after_the_life_was_taken_over(journal: Journal) -> None:
    [life] = journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])
    append = Append("agent:a", drafts(1), expected=None, fence=life["fence"])
    journal.commit([append])
    journal.commit([Append("agent:a", drafts(1), expected=None, grant=True)])

    [again] = journal.commit([append])

    assert again["duplicate"]
    assert journal.refusals() == []


def test_a_repetition_is_known_after_the_stream_was_ended(journal: Journal) -> None:
    append = Append("note:plan", drafts(1), expected=0)
    journal.commit([append])
    journal.end("note:plan", at(1))

    assert journal.commit([append])[0]["duplicate"]
    assert journal.refusals() == []


def test_a_batch_over_two_streams_is_written_whole(journal: Journal) -> None:
    receipts = journal.commit(
        [Append("note:a", drafts(1), expected=0), Append("note:b", drafts(2), expected=0)]
    )

    assert [(receipt["stream"], receipt["version"]) for receipt in receipts] == [
        ("note:a", 1),
        ("note:b", 2),
    ]


def test_a_repeated_batch_is_a_no_op_in_both_streams(journal: Journal) -> None:
    batch = [Append("note:a", drafts(1), expected=None), Append("note:b", drafts(2), expected=None)]
    original = journal.commit(batch)

    again = journal.commit(batch)

    assert [receipt["duplicate"] for receipt in again] == [True, True]
    assert [receipt["records"] for receipt in again] == [one["records"] for one in original]


def test_a_batch_with_one_conflict_writes_nothing_at_all(journal: Journal) -> None:
    write(journal, "note:b")

    with pytest.raises(VersionConflict):
        journal.commit(
            [Append("note:a", drafts(1), expected=0), Append("note:b", drafts(1), expected=0)],
            views=[view()],
            effects=[effect()],
        )

    assert journal.read("note:a") == []
    assert len(journal.read("note:b")) == 1
    assert journal.views() == []
    assert journal.effects() == []


def test_a_batch_that_meets_an_ended_stream_writes_nothing_at_all(journal: Journal) -> None:
    write(journal, "note:b")
    journal.end("note:b", at(1))

    with pytest.raises(StreamClosed):
        journal.commit(
            [
                Append("note:a", drafts(1), expected=None, grant=True),
                Append("note:b", drafts(1), expected=None),
            ]
        )

    assert journal.heads("note:a") == []
    assert journal.commit([Append("note:c", drafts(1), expected=None, grant=True)])[0]["fence"] > 0


def test_two_appends_of_one_batch_cannot_expect_the_same_version(journal: Journal) -> None:
    with pytest.raises(VersionConflict):
        journal.commit(
            [Append("note:a", drafts(1), expected=0), Append("note:a", drafts(1), expected=0)]
        )

    assert journal.read("note:a") == []


def test_an_id_is_never_written_twice_even_behind_a_new_one(journal: Journal) -> None:
    [known] = write(journal, "note:a")

    with pytest.raises(HoldfastError):
        write(journal, "note:b", draft(), draft(id=known["id"]))

    assert journal.read("note:b") == []
    assert ids(journal.since(0)) == [known["id"]]


def test_a_clock_that_steps_back_is_no_error(journal: Journal) -> None:
    write(journal, "note:plan", draft(when=at(10)))

    [record] = write(journal, "note:plan", draft(when=at(2)))

    assert (record["version"], record["at"]) == (2, at(2))
    head = journal.head("note:plan")
    assert head is not None
    assert head["seen_at"] == at(10)
