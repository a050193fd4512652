"""A note from a program that sends many, without the command line's parser."""

from __future__ import annotations

from holdfast.kernel.streams import actor, open_writer
from holdfast.note.rules.note import stream_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.kernel.workspace import Workspace


def note(
    _arguments: Sequence[str], payload: Mapping[str, Any], workspace: Workspace, now: int
) -> dict[str, Any]:
    """Leave a note. The payload has its `text`, perhaps `name`, `by` and `id`."""
    by = str(payload.get("by") or actor())
    outcome = open_writer(workspace).execute(
        stream_of(str(payload.get("name") or "default")),
        {"add": str(payload.get("text") or ""), "by": by},
        actor=by,
        now=now,
        id=str(payload.get("id") or ""),
    )
    return {"id": outcome["id"], "queued": bool(outcome["queued"])}
