"""What is read is checked against its chain, at each read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.journal.interface import SNAPSHOT_FLOOR, Append
from holdfast.kernel.errors import HoldfastError
from holdfast.testing.journal import Store
from holdfast.testing.journal.examples import at, draft, drafts, finding, ids, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal

READERS: dict[str, Callable[[Journal, str], Any]] = {
    "load": lambda journal, _: journal.load("note:a"),
    "load_all": lambda journal, _: journal.load_all("note:"),
    "read": lambda journal, _: journal.read("note:a"),
    "latest": lambda journal, _: journal.latest(),
    "since": lambda journal, _: journal.since(0),
    "find": lambda journal, victim: journal.find(victim),
}
DAMAGES: dict[str, Callable[[Store, Journal, str], None]] = {
    "body": lambda store, journal, victim: store.change_body(journal, victim, '{"number":2}'),
    "actor": lambda store, journal, victim: store.change_actor(journal, victim, "Adb"),
}


def with_snapshot(journal: Journal) -> None:
    """A stream with a snapshot at its second version, and a record after it."""
    write(journal, "note:a", draft({"text": "first"}, when=at(0)))
    large = draft("x" * SNAPSHOT_FLOOR, when=at(1))
    journal.commit([Append("note:a", [large], expected=None, state={"steps": 1, "name": "\u00e4"})])
    write(journal, "note:a", draft({"text": "last"}, when=at(9)))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_changed_record_is_refused_by_every_reader(
    journal: Journal, store: Store, damage: str, reader: str
) -> None:
    _, victim, _ = ids(write(journal, "note:a", *drafts(3)))
    DAMAGES[damage](store, journal, victim)

    with pytest.raises(HoldfastError, match="note:a is damaged at version 2") as refused:
        READERS[reader](journal, victim)

    assert refused.value.kind == "journal_damaged"


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_state_without_one_of_its_records_is_refused(
    journal: Journal, store: Store, lost: int
) -> None:
    written = ids(write(journal, "note:a", *drafts(3)))
    journal.erase([])  # moves the newest records of a SQLite journal to the table that has indexes
    store.remove(journal, written[lost])

    for name in ("load", "load_all"):
        with pytest.raises(HoldfastError) as refused:
            READERS[name](journal, "")
        assert refused.value.kind == "journal_damaged"


def test_an_honest_snapshot_is_believed(journal: Journal) -> None:
    with_snapshot(journal)

    loaded = journal.load("note:a")

    assert (loaded["snapshot"], loaded["is_rebuilt"]) == ({"steps": 1, "name": "\u00e4"}, False)
    assert journal.load_all("note:") == [loaded]


def test_a_changed_snapshot_is_left_out_where_all_records_are_there(
    journal: Journal, store: Store
) -> None:
    with_snapshot(journal)

    store.change_snapshot(journal, '{"name":"\u00e4","steps":2}')

    loaded = journal.load("note:a")
    assert (loaded["snapshot"], loaded["is_rebuilt"]) == (None, True)
    assert loaded["records"] == journal.read("note:a")
    assert journal.load_all("note:") == [loaded]
    assert finding(journal, "note:a")["broken"] == "its snapshot was changed"


def test_a_changed_snapshot_without_its_records_is_refused(journal: Journal, store: Store) -> None:
    with_snapshot(journal)
    assert journal.collect(before=at(5), keep=1)["records"] == 2
    before = journal.load("note:a")
    assert (before["snapshot"], before["is_rebuilt"]) == ({"steps": 1, "name": "\u00e4"}, False)

    store.change_snapshot(journal, '{"name":"\u00e4","steps":2}')

    for name in ("load", "load_all"):
        with pytest.raises(HoldfastError, match="its snapshot was changed") as refused:
            READERS[name](journal, "")
        assert refused.value.kind == "journal_damaged"


def test_the_retention_does_not_make_a_changed_snapshot_whole(
    journal: Journal, store: Store
) -> None:
    with_snapshot(journal)
    store.change_snapshot(journal, '{"steps":2}')

    journal.collect(before=at(5), keep=1)

    with pytest.raises(HoldfastError) as refused:
        journal.load("note:a")
    assert refused.value.kind == "journal_damaged"


def test_a_snapshot_that_is_asked_for_is_believed(journal: Journal) -> None:
    write(journal, 'note:"\\\n\x7f\u00e4', *drafts(3))
    [head] = journal.heads("note:")

    journal.snapshot(head["stream"], 3, {"steps": 3})

    assert journal.load(head["stream"])["snapshot"] == {"steps": 3}
