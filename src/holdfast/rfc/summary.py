"""What people and agents look up: the list of RFCs, one RFC, its questions, and the active reasoning.

A session's start hook loads this module: it imports nothing heavy.
"""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import plural, quote
from holdfast.rfc.reader import Reader
from holdfast.rfc.rules import document
from holdfast.rfc.rules.budget import estimate_tokens
from holdfast.rfc.rules.model import (
    ATTENTION,
    NOTHING,
    bullets_in,
    heading_of,
    is_active,
    is_open,
    max_rounds,
    owed_by,
    rounds_of,
    strictness_of,
    version_of,
    wants_restart,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.rules.model import Artifacts, Group, RfcState

    class RfcRow(TypedDict):
        """One RFC in a list. If its state.json cannot be read, the phase is `error`."""

        id: str
        phase: str
        strictness: str
        round: int
        max_rounds: int
        version: int
        open: bool
        closed: str
        restart: bool
        owed: str
        updated_at: str
        problems: list[str]

    class RfcDetails(TypedDict):
        """One RFC with the edits in its files, its checkpoint, and what changed since."""

        state: RfcState
        row: RfcRow
        checkpoint: str
        lines: int
        tokens: int
        drift: list[str]
        problems: list[str]
        unreadable: list[str]


# The most characters that one RFC takes in the pack of a session.
MOST_CHARACTERS = 2000


def list_rfcs(workspace: Workspace) -> list[RfcRow]:
    """Every RFC with a file or a record."""
    with Reader(workspace) as reader:
        return [_row(*reader.state(id)) for id in reader.ids()]


def _row(state: RfcState, problems: list[str]) -> RfcRow:
    fields = state["fields"]
    broken = not fields or any("state.json" in problem for problem in problems)
    return {
        "id": state["id"],
        "phase": "error" if broken else str(fields.get("current_phase", "unknown")),
        "strictness": strictness_of(fields) if fields else "unknown",
        "round": rounds_of(fields),
        "max_rounds": max_rounds(fields),
        "version": version_of(fields),
        "open": (broken or is_open(fields)) and not state.get("closed"),
        "closed": state.get("closed", ""),
        "restart": wants_restart(state),
        "owed": owed_by(state),
        "updated_at": str(fields.get("updated_at", "")),
        "problems": problems,
    }


def show(workspace: Workspace, id: str = "") -> RfcDetails:
    """One RFC, found by the beginning of its id."""
    with Reader(workspace) as reader:
        state, problems = reader.state(reader.find(id))
        artifacts, unreadable = reader.artifacts(state["id"])
    text = document.write(state) if state["meta"]["last_phase"] else ""
    return {
        "state": state,
        "row": _row(state, problems),
        "checkpoint": text,
        "lines": len(text.splitlines()),
        "tokens": estimate_tokens(text),
        "drift": drift(state["meta"]["artifacts"], artifacts) if text else [],
        "problems": problems,
        "unreadable": unreadable,
    }


def drift(then: Artifacts, now: Artifacts) -> list[str]:
    """What was edited since the checkpoint was written."""
    found: list[str] = []
    if then["rfc"] != now["rfc"]:
        before, after = then["rfc"] or "missing", now["rfc"] or "missing"
        found.append(f"rfc.md was edited since the checkpoint: {before} then, {after} now.")
    before, after = _items(then["evidence"]), _items(now["evidence"])
    if before != after:
        found.append(f"evidence.json was edited since the checkpoint: {before} then, {after} now.")
    elif then["evidence_digest"] and then["evidence_digest"] != now["evidence_digest"]:
        found.append(f"evidence.json was edited since the checkpoint: still {after}.")
    return found


def _items(count: int) -> str:
    return "unknown" if count < 0 else plural(count, "item")


def position(id: str, fields: dict[str, Any]) -> str:
    """`auth-model is in design after round 1 of 2 of Gate-B (Standard)`"""
    number = rounds_of(fields)
    rounds = f" after round {number} of {max_rounds(fields)} of Gate-B" if number else ""
    word = strictness_of(fields).capitalize()
    return f"{id} is in {fields.get('current_phase', '')}{rounds} ({word})"


def attention(groups: Sequence[Group]) -> list[tuple[str, list[str]]]:
    """Active tensions and reviewers' feedback, the latest group first; RFC-43."""
    return [
        (f"{title} ({heading_of(group['key'])})", bullets_in(group, title))
        for group in reversed(groups)
        for title in ATTENTION
        if bullets_in(group, title)
    ]


def active_reasoning(workspace: Workspace) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """For the pack of a session: the RFCs to bootstrap first, and titled notes of the open ones."""
    waiting: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    with Reader(workspace) as reader:
        for id in reader.ids():
            try:
                state, _ = reader.state(id)
            except (HoldfastError, OSError) as problem:
                # A broken RFC must not keep a session from being resumed.
                sections.append((f"RFC {id}", [f"It cannot be read: {problem}"]))
                continue
            if not is_active(state):
                continue
            if wants_restart(state):
                waiting.append(id)
            notes = _fit(id, _notes(state["groups"]))
            if notes:
                sections.append((f"RFC {position(id, state['fields'])}", notes))
    return waiting, sections


def _notes(groups: Sequence[Group]) -> list[str]:
    """Tensions and feedback first, then the design reasoning, one line each."""
    bullets = [bullet for _, found in attention(groups) for bullet in found]
    notes = [bullet for bullet in bullets if bullet.partition(": ")[2] != NOTHING]
    for group in groups:
        notes += bullets_in(group, "Design Reasoning Notes")
    return list(dict.fromkeys(notes))


def _fit(id: str, notes: list[str]) -> list[str]:
    room = MOST_CHARACTERS
    for position, note in enumerate(notes):
        room -= len(note) + 1
        if room < 0:
            left = len(notes) - position
            return [*notes[:position], f"({left} more: holdfast rfc show {quote(id)})"]
    return notes
