"""The hash chain: what it notices, and what it must not mind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.journal.chain import verify
from holdfast.journal.interface import Append
from holdfast.testing.journal import Store
from holdfast.testing.journal.examples import draft, drafts, finding, ids, write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


def test_an_honest_journal_verifies(journal: Journal) -> None:
    write(journal, "note:a", *drafts(4))
    journal.commit([Append("agent:b", drafts(2), expected=None, grant=True)])

    assert list(verify(journal)) == [
        {
            "stream": stream,
            "records": count,
            "erased": 0,
            "removed": 0,
            "broken": "",
            "record": "",
        }
        for stream, count in (("agent:b", 2), ("note:a", 4))
    ]


def test_the_hash_of_a_record_is_shown_with_it(journal: Journal) -> None:
    [record] = write(journal, "note:a")

    [sealed] = journal.sealed("note:a")

    assert record["hash"] == sealed["hash"].hex()
    assert sealed["record"] == record


def test_equal_bodies_do_not_have_equal_hashes(journal: Journal) -> None:
    """A short secret must not be guessable from the hash that stays when it is erased."""
    write(journal, "note:a", draft("1234"), draft("1234"))

    first, second = journal.sealed("note:a")

    assert first["body_hash"] != second["body_hash"]


def test_a_changed_body_is_noticed(journal: Journal, store: Store) -> None:
    _, victim, _ = ids(write(journal, "note:a", *drafts(3)))
    write(journal, "note:b")

    store.change_body(journal, victim, '{"number":42}')

    found = finding(journal, "note:a")
    assert (found["record"], found["broken"]) == (victim, "its body was changed")
    assert finding(journal, "note:b")["broken"] == ""


def test_a_changed_header_is_noticed(journal: Journal, store: Store) -> None:
    _, victim, _ = ids(write(journal, "note:a", *drafts(3)))

    store.change_actor(journal, victim, "Mallory")

    found = finding(journal, "note:a")
    assert found["record"] == victim
    assert "header was changed" in found["broken"]


def test_a_record_missing_in_the_middle_is_noticed(journal: Journal, store: Store) -> None:
    _, victim, after = ids(write(journal, "note:a", *drafts(3)))

    store.remove(journal, victim)

    found = finding(journal, "note:a")
    assert (found["record"], found["broken"]) == (after, "version 2 is missing")


def test_a_record_missing_at_either_end_is_noticed(journal: Journal, store: Store) -> None:
    first, second = ids(write(journal, "note:a", *drafts(2)))
    last = ids(write(journal, "note:b", *drafts(2)))[-1]

    store.remove(journal, first)
    store.remove(journal, last)

    assert finding(journal, "note:a")["record"] == second
    assert "ends at version 1, not 2" in finding(journal, "note:b")["broken"]


def test_an_erased_body_is_gone_and_the_chain_still_verifies(journal: Journal) -> None:
    secret, plain = write(journal, "note:a", draft("the secret"), draft("harmless"))

    assert journal.erase([secret["id"], "unknown"]) == 1

    erased, kept = journal.read("note:a")
    assert (erased["body"], erased["erased"]) == (None, True)
    assert kept == plain
    assert [item["salt"] is None for item in journal.sealed("note:a")] == [True, False]
    found = finding(journal, "note:a")
    assert (found["records"], found["erased"], found["broken"]) == (2, 1, "")


def test_erasing_again_erases_nothing(journal: Journal) -> None:
    [record] = write(journal, "note:a")
    journal.erase([record["id"]])

    assert journal.erase([record["id"]]) == 0


def test_an_erased_header_is_still_protected(journal: Journal, store: Store) -> None:
    [record] = write(journal, "note:a")
    journal.erase([record["id"]])

    store.change_actor(journal, record["id"], "Mallory")

    assert finding(journal, "note:a")["record"] == record["id"]


def test_records_that_come_while_the_check_runs_are_no_damage(journal: Journal) -> None:
    write(journal, "note:a")
    write(journal, "note:b")

    findings = []
    for found in verify(journal):
        findings.append(found)
        write(journal, "note:b")

    assert [found["broken"] for found in findings] == ["", ""]
