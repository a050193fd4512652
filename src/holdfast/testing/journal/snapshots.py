"""Snapshots: when they are written, and what a state is loaded from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.journal.interface import RECORD_WEIGHT, SNAPSHOT_FLOOR, Append
from holdfast.testing.journal.examples import draft, drafts, ids, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


def append_bytes(journal: Journal, size: int, state: object) -> None:
    """One record that weighs so many bytes, with the state that it leads to."""
    text = "x" * (size - RECORD_WEIGHT - len('""'))
    journal.commit([Append("note:plan", [draft(text)], expected=None, state=state)])


def snapshot_version(journal: Journal) -> int:
    return journal.load("note:plan")["snapshot_version"]


def test_a_small_stream_has_no_snapshot(journal: Journal) -> None:
    append_bytes(journal, SNAPSHOT_FLOOR // 2, {"steps": 1})

    loaded = journal.load("note:plan")

    assert loaded["snapshot"] is None
    assert loaded["snapshot_version"] == 0
    assert len(loaded["records"]) == 1


def test_a_snapshot_is_written_once_the_deltas_exceed_the_floor(journal: Journal) -> None:
    append_bytes(journal, SNAPSHOT_FLOOR // 2, {"steps": 1})
    append_bytes(journal, SNAPSHOT_FLOOR // 2 + 1, {"steps": 2})
    later = write(journal, "note:plan", *drafts(2))

    loaded = journal.load("note:plan")

    assert (loaded["snapshot"], loaded["snapshot_version"]) == ({"steps": 2}, 2)
    assert loaded["records"] == later
    assert loaded["head"] == journal.head("note:plan")


def test_exactly_the_floor_is_not_yet_more_than_the_floor(journal: Journal) -> None:
    append_bytes(journal, SNAPSHOT_FLOOR, {"steps": 1})
    assert snapshot_version(journal) == 0

    append_bytes(journal, RECORD_WEIGHT + len('""'), {"steps": 2})
    assert snapshot_version(journal) == 2


def test_many_small_records_weigh_more_than_their_bodies(journal: Journal) -> None:
    for step in range(SNAPSHOT_FLOOR // RECORD_WEIGHT):
        append_bytes(journal, RECORD_WEIGHT + 3, {"steps": step})
    assert snapshot_version(journal) > 0


def test_the_next_snapshot_waits_until_the_deltas_outweigh_the_last_one(journal: Journal) -> None:
    large = {"everything": "y" * 3 * SNAPSHOT_FLOOR}
    append_bytes(journal, SNAPSHOT_FLOOR + 1, large)
    assert snapshot_version(journal) == 1

    versions = []
    for _ in range(4):
        append_bytes(journal, SNAPSHOT_FLOOR, large)
        versions.append(snapshot_version(journal))

    assert versions == [1, 1, 1, 5]


def test_without_a_state_there_is_nothing_to_snapshot(journal: Journal) -> None:
    write(journal, "note:plan", draft("x" * 2 * SNAPSHOT_FLOOR))

    assert snapshot_version(journal) == 0


def test_a_snapshot_can_be_asked_for_and_starts_the_count_anew(journal: Journal) -> None:
    append_bytes(journal, SNAPSHOT_FLOOR - 10, {"steps": 1})

    journal.snapshot("note:plan", 1, {"steps": 1})
    append_bytes(journal, SNAPSHOT_FLOOR - 10, {"steps": 2})

    loaded = journal.load("note:plan")
    assert (loaded["snapshot"], loaded["snapshot_version"]) == ({"steps": 1}, 1)
    assert ids(loaded["records"]) == ids(journal.read("note:plan", after=1))


def test_a_state_loads_when_nothing_came_after_its_snapshot(journal: Journal) -> None:
    append_bytes(journal, SNAPSHOT_FLOOR + 1, {"steps": 1})

    loaded = journal.load("note:plan")

    assert loaded["snapshot"] == {"steps": 1}
    assert loaded["records"] == []


def test_many_streams_load_as_each_would(journal: Journal) -> None:
    """Those of one folder, by name; with a snapshot and without, erased and ended ones too."""
    append_bytes(journal, SNAPSHOT_FLOOR + 1, {"steps": 1})
    write(journal, "note:plan", *drafts(2))
    write(journal, "note:other", draft({"text": "ä"}))
    erased, *_ = write(journal, "note:%_", draft({"text": "secret"}), draft())
    journal.erase([erased["id"]])
    write(journal, "note:below/plan")
    write(journal, "notes:plan")

    loaded = journal.load_all("note:")

    names = ["note:%_", "note:other", "note:plan"]
    assert loaded == [journal.load(name) for name in names]
    assert journal.load_all("note:below/") == [journal.load("note:below/plan")]
    assert journal.load_all("nothing:") == []


def test_many_streams_load_with_their_fences(journal: Journal) -> None:
    """Of a moved record, of one of the newest, of both, and of a stream whose row was changed alone."""
    for name in ("note:a", "note:b"):
        journal.commit([Append(name, drafts(1), expected=None, grant=True)])
    journal.erase([])  # moves the newest records of a SQLite journal to the table that has indexes
    journal.commit([Append("note:b", drafts(1), expected=None, grant=True)])
    journal.commit([Append("note:c", drafts(1), expected=None, grant=True)])
    write(journal, "note:c")
    write(journal, "note:d")

    loaded = journal.load_all("note:")

    assert loaded == [journal.load(name) for name in ("note:a", "note:b", "note:c", "note:d")]
    fences = [one["head"]["fence"] for one in loaded if one["head"] is not None]
    assert 0 < fences[0] < fences[1] < fences[2]
    assert fences[3] == 0
