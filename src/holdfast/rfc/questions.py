"""The questions at a boundary of an RFC, or of any RFC where they are the same for all."""

from __future__ import annotations

from holdfast.kernel.errors import NotFound, Usage
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules.prompts import prompt
from holdfast.rfc.rules.transitions import GATE_B, GROUPS, group_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class Questions(TypedDict):
        id: str
        group: str
        prompt: str


def questions(workspace: Workspace, group: str, id: str = "") -> Questions:
    """The questions of a group, for the RFC that is meant."""
    if group not in GROUPS:
        raise Usage(f"{group!r:.40} is no group.", hint=f"One of {', '.join(GROUPS)}.")
    key, where = group, ""
    with Reader(workspace) as reader:
        try:
            where = reader.named(id)
        except NotFound:
            # The questions of DISCOVER and DESIGN are the same for every RFC.
            if id or group == GATE_B:
                raise
        if where:
            key = group_for(reader.state(where)[0], group)
    return {"id": where, "group": key, "prompt": prompt(key)}
