"""What a client is given that is about to compact a session: the pack, durable in the journal first.

Claude Code's mod (`plugins/holdfast/hooks/register.js`) asks for it. No answer, or one without a pack,
leaves the compaction to the client.
"""

from __future__ import annotations

from holdfast.clients.table import safe_id
from holdfast.hooks.handlers import automated
from holdfast.kernel import config
from holdfast.kernel.errors import NotFound
from holdfast.session import observation, session_files, sessions
from holdfast.session.checkpoint import checkpoint
from holdfast.session.resume import resume
from holdfast.session.world import head_now, world_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace

MODES = ("instant", "assist", "off")
# The session's file which says that the conversation was replaced by the pack: the start that follows
# in the same session does not give it a second time.
REPLACED = "replaced"
CLIENT = "claude"


def compaction(payload: dict[str, Any], workspace: Workspace, now: int) -> dict[str, Any]:
    """The mode of this compaction, and the pack. A pack that is not in the journal is not given."""
    session = safe_id(str(payload.get("session_id") or ""))
    settings = config.load(workspace, workspace.journal if workspace.exists() else None)
    mode = "instant" if payload.get("once") else str(settings["claude.compaction"])
    if mode not in MODES or mode == "off" or not session:
        return {"mode": "off"}
    looked = observation.look(
        workspace, session, state=sessions.read_or_new(workspace, session), now=now
    )
    if looked is None:
        return {"mode": "off"}  # nothing is known that could stand for the conversation
    captured = automated(session, "context-threshold")
    checkpoint(workspace, captured, actor=CLIENT, now=now)
    world = world_now(workspace, head_now(workspace))
    observation.record(workspace, session, looked, world, actor=CLIENT, now=now)
    try:
        pack = resume(workspace, {"session": session, "discover": False}, now=now)
    except NotFound:
        return {"mode": "off"}
    if mode == "instant":
        session_files.keep(workspace, session, REPLACED, {"at": now})
    whole = f"The whole conversation until here: {looked['path']}"
    return {
        "mode": mode,
        "pack": f"{pack['pack']}\n\n{whole}",
        "keep_tokens": int(settings["claude.compaction_tokens"]),
    }
