"""The active reasoning of open RFCs, for the pack of a session. Hooks load this: it stays light."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules import bootstrap
from holdfast.rfc.rules.words import is_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

# So much of a pack may be one RFC's; the rest is a command away.
MOST_CHARACTERS = 2000


def active_reasoning(workspace: Workspace) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The RFCs to bootstrap first, and the notes of the open ones, each with its title."""
    waiting: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    with Reader(workspace) as reader:
        for id in reader.ids():
            try:
                state, _ = reader.state(id)
            except (HoldfastError, OSError) as problem:
                # What is wrong with an RFC must not keep a session from being resumed.
                sections.append((f"RFC {id}", [f"It cannot be read: {problem}"]))
                continue
            if not is_open(state["fields"]):
                continue
            if state["move"] is not None and state["move"]["restart"]:
                waiting.append(id)
            notes = _fitting(id, bootstrap.notes(state["groups"]))
            if notes:
                sections.append((f"RFC {bootstrap.standing(id, state['fields'])}", notes))
    return waiting, sections


def _fitting(id: str, notes: list[str]) -> list[str]:
    room = MOST_CHARACTERS
    for position, note in enumerate(notes):
        room -= len(note) + 1
        if room < 0:
            left = len(notes) - position
            return [*notes[:position], f"({left} more: holdfast rfc show {id})"]
    return notes
