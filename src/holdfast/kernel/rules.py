"""What the write path asks of a kind of stream: five pure functions, usually those of a module."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol, TypedDict

    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change

    class Wish(TypedDict):
        """An effect that a decision asks for; of one key, the newest wins."""

        kind: str
        key: str
        body: Any

    class Rules(Protocol):
        """The rules of one kind of stream. No function here does I/O or reads a clock."""

        def initial(self, stream: str) -> Any:
            """The state before the first record."""

        def apply(self, state: Any, event: Event) -> Any:
            """The state after a record; the given state is not changed."""

        def decide(self, state: Any, command: Any, now: int) -> Decision:
            """What a command makes happen."""

        def absorb(self, state: Any, base: Any, change: Change, now: int) -> list[tuple[str, Any]]:
            """The records that bring an outside change into the state. `base` is the state that the
            editor was looking at. Unparsable sends the file to quarantine."""

        def render(self, state: Any) -> Mapping[str, str]:
            """The views of a state: path and text."""


class Decision:
    """Records to append, effects to be tried once they are durable, and views to be moved aside:
    whatever stands at the first path is renamed to the second, before the views are written.
    `attests` asks for a snapshot whose digest is in the chain."""

    def __init__(
        self,
        records: Sequence[tuple[str, Any]] = (),
        effects: Sequence[Wish] = (),
        moves: Sequence[tuple[str, str]] = (),
        *,
        attests: bool = False,
    ) -> None:
        self.attests = attests
        self.records = records
        self.effects = effects
        self.moves = moves


class Person(dict[str, str]):
    """A person whom this process saw: `name`, `channel`, `terminal` and `at`, and their `signature`
    where one is asked for.

    What only a person may do is decided by rules that ask for this class. A command may come from an
    inbox, or from a program that made a person up: it is plain JSON then, and that is no such thing.
    """


class Unparsable(Exception):
    """A view's text that its protocol cannot read, and why."""


def absorb_nothing(state: Any, base: Any, change: Change, now: int) -> list[tuple[str, Any]]:
    """The `absorb` of a stream that has no view."""
    return []


def render_nothing(state: Any) -> Mapping[str, str]:
    """The `render` of a stream that has no view."""
    return {}
