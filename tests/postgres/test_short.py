"""The short way past psycopg's cursors: the same records, the same refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.journal.chain import verify
from holdfast.kernel.journal.interface import Append
from holdfast.kernel.journal.postgres import short
from tests.journal_conformance.examples import draft

if TYPE_CHECKING:
    from holdfast.kernel.journal.postgres.journal import PostgresJournal
    from tests.postgres.conftest import Open

STREAM = "note:short"


def _append(journal: PostgresJournal, version: int, **facts: str) -> None:
    journal.commit([Append(STREAM, [draft(**facts)], expected=version)])


def test_the_first_and_the_prepared_ones_are_one_chain(open_journal: Open) -> None:
    journal = open_journal()
    count = 2 * short.PREPARED_AFTER
    for version in range(count):
        _append(journal, version)
    # The first makes the stream, which is not the short way's.
    assert journal.session().appended == count - 1
    assert [record["version"] for record in journal.read(STREAM)] == list(range(1, count + 1))
    assert [finding for finding in verify(journal) if finding["broken"]] == []


@pytest.mark.parametrize("before", [1, 2 * short.PREPARED_AFTER])
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
    assert [finding for finding in verify(journal) if finding["broken"]] == []


def test_whoever_is_alone_loses_nothing_with_a_statement_that_is_gone(open_journal: Open) -> None:
    """A pooler may discard it at any time; in a transaction, its absence would end that."""
    journal = open_journal()
    count = 2 * short.PREPARED_AFTER
    for version in range(count):
        _append(journal, version)
    with journal.alone(lost=9):
        journal.session().execute("DEALLOCATE ALL")
        _append(journal, count)
    _append(journal, count + 1)
    assert len(journal.read(STREAM)) == count + 2
    assert [finding for finding in verify(journal) if finding["broken"]] == []


def test_a_new_connection_prepares_anew(open_journal: Open) -> None:
    journal = open_journal()
    for version in range(2 * short.PREPARED_AFTER):
        _append(journal, version)
    journal.session().close()
    for version in range(2 * short.PREPARED_AFTER, 4 * short.PREPARED_AFTER):
        _append(journal, version)
    assert [finding for finding in verify(journal) if finding["broken"]] == []
    assert len(journal.read(STREAM)) == 4 * short.PREPARED_AFTER
