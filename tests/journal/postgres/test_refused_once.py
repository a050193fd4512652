"""What was refused is kept once, also when the connection dies with the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from holdfast.journal.interface import Append
from holdfast.journal.postgres.commit import keep_refused
from holdfast.kernel.errors import FenceLost
from holdfast.testing.journal.examples import draft

if TYPE_CHECKING:
    from tests.journal.postgres.conftest import Open

STREAM = "agent:secondary_a"


def test_a_refusal_whose_answer_was_lost_is_kept_once(
    open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal()
    for _ in range(2):
        journal.commit([Append(STREAM, [draft()], expected=None, grant=True)])
    tries = []

    def lose_the_answer(session: psycopg.Connection, *words: Any) -> None:
        keep_refused(session, *words)
        tries.append(words)
        if len(tries) == 1:
            session.close()
            raise psycopg.OperationalError("the connection is lost")

    place = "holdfast.journal.postgres.journal.keep_refused"
    monkeypatch.setattr(place, lose_the_answer)
    late = draft()
    with pytest.raises(FenceLost):
        journal.commit([Append(STREAM, [late], expected=None, fence=1)])
    assert len(tries) == 2
    assert [refusal["drafts"] for refusal in journal.refusals(STREAM)] == [[late]]
