"""Effects outside the journal: tried once the record is durable, kept and retried when they fail.

An effect is claimed before it is tried, for a limited time: of two processes one delivers it, and
when that one dies the claim lapses. So an effect can happen twice, and a handler must make the
second time harmless (a trailer in the commit, a comment's id of our own choosing).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict

from holdfast.kernel import clock
from holdfast.kernel.redact import Redactor

if TYPE_CHECKING:
    from holdfast.journal.interface import Effect, Journal

    Handler = Callable[[Effect], None]

    class Delivery(TypedDict):
        id: str
        kind: str
        key: str
        delivered: bool
        error: str


CLAIM = clock.MINUTE
FIRST_PAUSE = 30_000
LONGEST_PAUSE = clock.HOUR


def deliver(
    journal: Journal,
    handlers: Mapping[str, Handler],
    now: int,
    *,
    redactor: Redactor,
    seconds: float = 5.0,
    first: str = "",
) -> list[Delivery]:
    """Try what is due, for at most so long; what was tried, and how it went. `first` is the effect
    that the caller waits for: it does not queue behind others that may hang."""
    deliveries: list[Delivery] = []
    if not handlers:
        return deliveries
    deadline = time.monotonic() + seconds
    due = journal.effects(due=clock.precise(now), kinds=list(handlers))
    for effect in sorted(due, key=lambda effect: effect["id"] != first):
        if time.monotonic() > deadline:
            break
        if not journal.claim(
            effect["id"], now=clock.precise(now), until=clock.precise(now + CLAIM)
        ):
            continue
        error = ""
        try:
            handlers[effect["kind"]](effect)
        except Exception as failure:  # a handler calls other systems: anything can happen
            error = redactor.text(str(failure) or type(failure).__name__)
        again = now + pause_after(effect["attempts"] + 1)
        journal.settle(effect["id"], error=error, due_at=clock.precise(again))
        deliveries.append(
            {
                "id": effect["id"],
                "kind": effect["kind"],
                "key": effect["key"],
                "delivered": not error,
                "error": error,
            }
        )
    return deliveries


def pause_after(attempts: int) -> int:
    """30 s, 1 min, 2 min ... up to an hour."""
    return int(min(FIRST_PAUSE * 2 ** min(attempts - 1, 20), LONGEST_PAUSE))
