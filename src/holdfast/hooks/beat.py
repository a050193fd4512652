"""A heartbeat without the command line's parser, for whoever sends many: `beat AGENT`, and the rest as
JSON on standard input."""

from __future__ import annotations

from holdfast.fleet.agents import update
from holdfast.fleet.context import Post
from holdfast.fleet.epic import find
from holdfast.kernel.errors import Usage
from holdfast.remote import server_time
from holdfast.streams import actor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.kernel.workspace import Workspace

# What a payload may say, and the field of the checkpoint that it means.
FIELDS = {
    "step": "current_step",
    "next": "next_steps",
    "recovery": "recovery_instructions",
    "stage": "stage",
    "phase": "phase",
    "status": "status",
}
_LISTS = {"done": "completed_steps", "files": "files_modified"}


def beat(
    arguments: list[str], payload: Mapping[str, Any], workspace: Workspace, now: int
) -> dict[str, Any]:
    """Save it, and say which life that was."""
    if len(arguments) != 1:
        raise Usage("A heartbeat names its agent: beat Secondary-A")
    fence = payload.get("fence")
    post = Post(
        find(workspace, str(payload.get("epic") or "")),
        workspace,
        actor=actor(),
        now=server_time.known(workspace, now),
        fence=fence if isinstance(fence, int) else None,
    )
    command: dict[str, Any] = {
        "do": "beat",
        "set": {field: payload[name] for name, field in FIELDS.items() if name in payload},
        "busy_until": "",
        "doing": "",
    }
    for name, field in _LISTS.items():
        command[field] = [str(each) for each in payload.get(name) or []]
    told = update(post, arguments[0], command)
    return {"agent": arguments[0], "fence": told.fence, "said": told.lines}
