"""One record behind a known tip is one statement, which psycopg prepares when it repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.journal.chain import verify
from holdfast.journal.interface import Append
from holdfast.kernel.errors import HoldfastError
from tests.journal.conformance.examples import draft

if TYPE_CHECKING:
    from holdfast.journal.postgres.journal import PostgresJournal
    from tests.journal.postgres.conftest import Open

STREAM = "note:one-statement"
# psycopg prepares a statement that it sent five times.
MANY = 10


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


def test_a_new_connection_prepares_anew(open_journal: Open) -> None:
    journal = open_journal()
    for version in range(MANY):
        _append(journal, version)
    journal.session().close()
    for version in range(MANY, 2 * MANY):
        _append(journal, version)
    assert _is_whole(journal, 2 * MANY)
