"""Waiting for the next record: LISTEN, on a connection of its own."""

from __future__ import annotations

import time

import psycopg

from holdfast.journal.postgres.connect import connect
from holdfast.journal.postgres.errors import in_our_words
from holdfast.journal.postgres.notify import AGAIN_SECONDS
from holdfast.journal.postgres.rows import channel_of
from holdfast.kernel.errors import StoreAway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.journal.postgres.journal import PostgresJournal

# A notification is a hint, not a promise: a network or a pooler may swallow it. So we also look.
LOOK_SECONDS = 5.0
# A workspace without a first record has no number to listen for yet.
UNBORN_SECONDS = 0.2


def wait(journal: PostgresJournal, seq: int, seconds: float) -> bool:
    """Until something was committed after `seq`, at most so long; whether it was."""
    deadline = time.monotonic() + seconds
    if journal.since(seq, limit=1):
        return True
    while True:
        try:
            return _listen(journal, seq, deadline)
        except StoreAway:
            # A server that restarts takes the ear with it.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _listen(journal: PostgresJournal, seq: int, deadline: float) -> bool:
    ear = connect(journal.url)
    try:
        number, again = 0, False
        while True:
            if not number and journal.number():
                number, again = journal.number(), True
                ear.execute(f"LISTEN {channel_of(number)}")
            # After LISTEN: what came in between would not wake us.
            if journal.since(seq, limit=1):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            pause = AGAIN_SECONDS if again else LOOK_SECONDS if number else UNBORN_SECONDS
            again = False
            for _ in ear.notifies(timeout=min(left, pause), stop_after=1):
                again = True
    except psycopg.Error as error:
        raise in_our_words(error, "waiting for the next record", journal.place) from None
    finally:
        ear.close()
