"""Notes for programs: `workspace.note("Dates are UTC.")`."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.note.write import write_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome
    from holdfast.offers import Offers


def note(opened: Offers, text: str, *, name: str = "default", id: str | None = None) -> Outcome:
    """Add a line to a note, durably. The same `id` again changes nothing."""
    workspace = opened.reachable(write_note)
    return write_note(workspace, text, name=name, actor=opened.actor, now=clock.now(), id=id)
