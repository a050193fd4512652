"""Waiting for the next record."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from holdfast.testing.journal.examples import write

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


def test_what_is_there_already_is_not_waited_for(journal: Journal) -> None:
    [record] = write(journal, "note:plan")

    assert journal.wait(record["seq"] - 1, 60)


def test_nobody_wrote_in_the_meantime(journal: Journal) -> None:
    [record] = write(journal, "note:plan")

    assert not journal.wait(record["seq"], 0.01)


def test_a_waiting_reader_is_woken_by_a_commit(journal: Journal) -> None:
    [record] = write(journal, "note:plan")
    start = time.monotonic()
    writer = threading.Timer(0.2, write, args=(journal, "note:other"))
    writer.start()

    assert journal.wait(record["seq"], 60)

    writer.join()
    assert time.monotonic() - start < 30, "it was woken, and did not wait to the end"


def test_the_first_record_of_all_can_be_waited_for(journal: Journal) -> None:
    writer = threading.Timer(0.1, write, args=(journal, "note:plan"))
    writer.start()

    assert journal.wait(0, 60)

    writer.join()
