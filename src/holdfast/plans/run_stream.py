"""The run's stream, as the runner that holds it sees it: its state in hand, its fence on every write."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.state import fold
from holdfast.plans import lookup
from holdfast.plans.rules import run as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.journal.interface import Record
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.writer import Writer
    from holdfast.plans.rules.run_model import Life, RunState
    from holdfast.plans.run_folder import Place


class RunStream:
    """One life of a run. Whoever begins another takes the stream from this one."""

    def __init__(self, writer: Writer, place: Place, *, actor: str) -> None:
        self.writer = writer
        self.place = place
        self.actor = actor
        self.fence: int | None = None
        self.state: RunState = lookup.read(writer.workspace, place.id)

    def live(self, life: Life) -> None:
        """Begin a life: from here on, every earlier runner is refused."""
        order = Order(self.place.stream, {"do": "live", "life": life}, grant=True)
        outcome = execute_now(self.writer, order, actor=self.actor)
        self.fence = outcome["fence"]
        self.state = lookup.read(self.writer.workspace, self.place.id)

    def execute(self, command: dict[str, Any]) -> Sequence[Record]:
        """Write down what happened; the records. FenceLost when another runner has the run."""
        outcome = self.writer.execute(
            self.place.stream, command, actor=self.actor, now=clock.now(), fence=self.fence
        )
        _refuse_queued(outcome["queued"])
        self.state = fold(rules, self.state, outcome["records"])
        return outcome["records"]


def execute_now(writer: Writer, order: Order, *, actor: str) -> Outcome:
    """Now or not at all: left in the inbox, a run would begin when nobody thinks of it any more."""
    try:
        (outcome,) = commit(writer, [order], actor=actor, now=clock.now())
    except StoreAway as error:
        raise (away() if error.kind == "read_only" else error) from error
    return outcome


def _refuse_queued(queued: str) -> None:
    if queued:
        raise away()


def away() -> StoreAway:
    """A run is only begun and gone on with where every step of it can be recorded."""
    return StoreAway(
        "The journal cannot be written from here, so a run could not be resumed.",
        hint="Run it where the journal is writable.",
        kind="read_only",
    )
