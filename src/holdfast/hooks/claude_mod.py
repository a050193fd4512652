"""The words of Claude Code's mod (`plugins/holdfast/hooks/register.js`), for which the client has no hook.

- `compaction`: the session is about to be compacted. The answer has the pack, durable in the journal
  first. No answer, or one without a pack, leaves the compaction to the client.
- `measure`: the context, the cost and the limits as the client counts them, after each turn.
- `interrupted`: a turn ended without a Stop hook, because a person or an error ended it.
"""

from __future__ import annotations

from holdfast.clients.table import safe_id
from holdfast.hooks import marks
from holdfast.hooks.activity import tell_spent
from holdfast.hooks.after_turn import after_turn, ask_if_full, keep_full_quota
from holdfast.hooks.handlers import automated
from holdfast.kernel import clock, config
from holdfast.kernel.errors import NotFound
from holdfast.session import observation, session_files, sessions
from holdfast.session.checkpoint import checkpoint
from holdfast.session.resume import resume
from holdfast.session.world import head_now, world_now
from holdfast.usage import usage_limits
from holdfast.usage.spending import note_status_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace

MODES = ("instant", "assist", "off")
CLIENT = "claude"


def answer(word: str, payload: dict[str, Any], workspace: Workspace, now: int) -> dict[str, Any]:
    """What the mod is told about one of its words."""
    session = safe_id(str(payload.get("session_id") or ""))
    if word == "compaction":
        return _compaction(session, payload, workspace, now)
    if not session or not workspace.exists():
        return {}
    if word == "measure":
        _measure(session, payload, workspace, now)
    else:
        after_turn(workspace, CLIENT, session, "", now)
    if usage_limits.read(workspace, session) is not None:
        marks.drop(CLIENT, session)  # its next tool says that it goes on
    else:
        marks.leave(workspace, CLIENT, session, now)
    return {}


def _measure(session: str, payload: dict[str, Any], workspace: Workspace, now: int) -> None:
    """Keep what the client measured, as its status line would tell it, and act on it."""
    context, cost = _table(payload.get("context")), _table(payload.get("cost"))
    told: dict[str, Any] = {"session_id": session, "cost": {"total_cost_usd": cost.get("usd")}}
    if context.get("tokens") is not None:  # absent before the first answer and after a compaction
        told["context_window"] = {
            "context_window_size": context.get("window"),
            "total_input_tokens": context["tokens"],
            "current_usage": {},
        }
    told["rate_limits"] = _rate_limits(payload.get("rate_limits"))
    note_status_line(workspace, told, now=now)
    keep_full_quota(workspace, CLIENT, session, now)
    percent = context.get("percent")
    if isinstance(percent, (int, float)):
        state = sessions.read_or_new(workspace, session)
        ask_if_full(workspace, session, percent, clock.precise(now), state)
    tell_spent(workspace, session, now)


def _rate_limits(told: object) -> dict[str, Any]:
    """As the status line names them: `used_percentage` and `resets_at` in seconds, by kind."""
    found = {}
    for one in map(_table, told if isinstance(told, list) else []):
        try:
            resets = clock.parse(str(one.get("resetsAt"))) // 1000
        except ValueError:
            resets = 0
        found[str(one.get("kind"))] = {
            "used_percentage": one.get("percentUsed"),
            "resets_at": resets,
        }
    return found


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _compaction(
    session: str, payload: dict[str, Any], workspace: Workspace, now: int
) -> dict[str, Any]:
    """The mode of this compaction, and the pack. A pack that is not in the journal is not given."""
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
        session_files.keep(workspace, session, session_files.REPLACED, {"at": now})
    whole = f"The whole conversation until here: {looked['path']}"
    return {
        "mode": mode,
        "pack": f"{pack['pack']}\n\n{whole}",
        "keep_tokens": int(settings["claude.compaction_tokens"]),
    }
