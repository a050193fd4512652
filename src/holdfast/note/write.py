"""The operation that leaves a note."""

from __future__ import annotations

from holdfast.note.rules.note import stream_of
from holdfast.remote.offline import works_offline
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace


@works_offline
def write_note(
    workspace: Workspace, text: str, *, name: str = "default", actor: str, now: int, id: str = ""
) -> Outcome:
    """Leave a note, durably. The same `id` again changes nothing."""
    command = {"add": text, "by": actor}
    return open_writer(workspace).execute(stream_of(name), command, actor=actor, now=now, id=id)
