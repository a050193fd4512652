"""One record behind a known tip is one statement, which is prepared when it repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.journal.chain import verify
from holdfast.journal.interface import Append
from holdfast.kernel.errors import FenceLost, HoldfastError, VersionConflict
from holdfast.testing.journal.examples import draft

if TYPE_CHECKING:
    from holdfast.journal.postgres.journal import PostgresJournal
    from tests.journal.postgres.conftest import Open

STREAM = "note:one-statement"
# psycopg lets the server prepare what was executed five times. The first append makes the stream, which is
# another statement.
MANY = 8


def _append(journal: PostgresJournal, version: int, **facts: str) -> None:
    journal.commit([Append(STREAM, [draft(**facts)], expected=version)])


def _is_whole(journal: PostgresJournal, count: int) -> bool:
    versions = [record["version"] for record in journal.read(STREAM)]
    broken = [finding for finding in verify(journal) if finding["broken"]]
    return versions == list(range(1, count + 1)) and not broken


@pytest.mark.parametrize("before", [1, MANY])
def test_a_text_with_a_null_character_is_refused_and_not_cut(
    open_journal: Open, before: int
) -> None:
    journal = open_journal()
    for version in range(before):
        _append(journal, version)
    with pytest.raises(HoldfastError):
        _append(journal, before, actor="some\0body")
    _append(journal, before, actor="somebody")
    assert journal.read(STREAM)[-1]["actor"] == "somebody"
    assert _is_whole(journal, before + 1)


def test_a_prepared_statement_that_is_discarded_inside_a_transaction_loses_nothing(
    open_journal: Open,
) -> None:
    journal = open_journal()
    for version in range(MANY):
        _append(journal, version)
    with journal.alone(lost=9):
        journal.session().execute("DEALLOCATE ALL")
        _append(journal, MANY)
    _append(journal, MANY + 1)
    assert _is_whole(journal, MANY + 2)


def test_a_prepared_statement_that_a_pooler_discarded_is_prepared_again(open_journal: Open) -> None:
    journal = open_journal()
    for version in range(MANY):
        _append(journal, version)
    journal.session().pgconn.exec_(b"DEALLOCATE ALL")  # without the knowledge of psycopg
    for version in range(MANY, 2 * MANY):
        _append(journal, version)
    assert _is_whole(journal, 2 * MANY)


def test_a_prepared_append_behind_an_old_version_is_refused(open_journal: Open) -> None:
    journal, other = open_journal(), open_journal()
    for version in range(MANY):
        _append(journal, version)
    other.load(STREAM)
    _append(other, MANY)
    with pytest.raises(VersionConflict):
        _append(journal, MANY)
    assert _is_whole(journal, MANY + 1)


def test_a_life_that_was_taken_over_writes_nothing_by_a_prepared_statement(
    open_journal: Open,
) -> None:
    journal, other = open_journal(), open_journal()
    [begun] = journal.commit([Append(STREAM, [draft()], expected=0, grant=True)])
    for version in range(1, MANY):
        journal.commit([Append(STREAM, [draft()], expected=version, fence=begun["fence"])])
    other.commit([Append(STREAM, [draft()], expected=MANY, grant=True)])
    with pytest.raises(FenceLost):
        journal.commit([Append(STREAM, [draft()], expected=MANY, fence=begun["fence"])])
    assert _is_whole(journal, MANY + 1)
    assert len(journal.refusals(STREAM)) == 1


def test_a_new_connection_prepares_anew(open_journal: Open) -> None:
    journal = open_journal()
    for version in range(MANY):
        _append(journal, version)
    journal.session().close()
    for version in range(MANY, 2 * MANY):
        _append(journal, version)
    assert _is_whole(journal, 2 * MANY)
