"""Gates that wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.gates.hooks import list_open
from holdfast.kernel.text import plural
from holdfast.kernel.workspace import Workspace
from holdfast.registry import WAITS, Attention, StatusLine

if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return how many gates wait, with the title of the one that waits longest."""
    gates = _presented(workspace)
    if gates:
        wait = plural(len(gates), "gate waits", "gates wait")
        what = f"{wait} for a person; longest: {gates[0]['content']['title']}"
        yield Attention(what, "holdfast gate list", WAITS, has_card=True)


def show(workspace: Workspace, session: str) -> StatusLine:
    """Return how many gates wait, for the line under a client's prompt."""
    count = len(_presented(workspace))
    text = f"{plural(count, 'gate waits', 'gates wait')} (holdfast gate list)"
    return StatusLine(last=[(text, "yellow")] if count else [])


def _presented(workspace: Workspace) -> list[GateState]:
    return [state for state in list_open(workspace) if state["presented_at"]]
