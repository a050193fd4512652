"""Leave a note, and read one back."""

from __future__ import annotations

from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer, works_offline
from holdfast.note.rules import note as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace
    from holdfast.note.rules.note import NoteState


@works_offline
def write_note(
    workspace: Workspace,
    text: str,
    *,
    name: str = "default",
    actor: str,
    now: int,
    id: str | None = None,
) -> Outcome:
    """Leave a note, durably. The same `id` again changes nothing; without one it is random."""
    if not isinstance(text, str):
        raise Usage(f"A note is text, not {type(text).__name__}.")
    stream = rules.stream_of(name)
    if id is not None and not id.strip():
        raise Usage("An id needs at least one character.", hint="Leave it out for a random one.")
    order = Order(stream, {"add": text, "by": actor})
    writer = open_writer(workspace)
    return commit(writer, [order], actor=actor, now=now, id=id or "", can_wait=True)[0]


def read_note(workspace: Workspace, name: str = "default") -> NoteState:
    """A note with all its lines."""
    stream = rules.stream_of(name)
    if not workspace.exists() or workspace.journal.head(stream) is None:
        raise NotFound(
            f"There is no note{'' if name == 'default' else f' {name}'} yet.",
            hint='holdfast note "what the next reader must know"; `holdfast note -` reads standard input',
        )
    state: NoteState = load(workspace.journal, rules, stream)[0]
    return state
