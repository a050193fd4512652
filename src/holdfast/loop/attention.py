"""Tracks that are blocked, failed or silent."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.kernel import clock
from holdfast.kernel.workspace import Workspace
from holdfast.loop.rules.model import LoopState
from holdfast.registry import STALLED, Attention

# A track has no process of its own: its agent may think this long between two commands.
SILENT_AFTER = 30 * clock.MINUTE


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the tracks that no runner advances."""
    heads = workspace.journal.heads("loop:") if workspace.exists() else []
    if not heads:
        return
    from holdfast.kernel.state import load
    from holdfast.kernel.text import quote
    from holdfast.loop.rules import loop

    for head in heads:
        state: LoopState = load(workspace.journal, loop, head["stream"])[0]
        why, has_card = _explain(state, head["seen_at"], now) if state["opened"] else ("", False)
        if why:
            command = f"holdfast loop resume --track {quote(state['track'])}"
            yield Attention(f"Track {state['track']} {why}", command, STALLED, has_card=has_card)


def _explain(state: LoopState, seen_at: str, now: int) -> tuple[str, bool]:
    """Return why a track is silent, empty while it is not; and whether the board shows it among what needs a person:
    one that is blocked or failed."""
    from holdfast.kernel.text import plural
    from holdfast.loop.rules.checkpoint import (
        checkpoint_of,
        count_done,
        current_step,
        newest,
        status_of,
        waiting_for,
    )
    from holdfast.loop.rules.model import FAILED, IN_PROGRESS
    from holdfast.pack.handover_text import age_of

    step = current_step(state)
    moment = newest(state["document"]) or clock.parse(seen_at)
    held = waiting_for(state)
    if held is not None:
        return f"is blocked at {held['step']} since {age_of(moment, now)}: {held['reason']}", True
    status = status_of(state, step)
    if status == FAILED:
        return f"failed at {step} {age_of(moment, now)}", True
    if status != IN_PROGRESS or now - moment < SILENT_AFTER:
        return "", False
    checkpoint = checkpoint_of(state, step)
    done, total = count_done(checkpoint, "tasks_completed"), count_done(checkpoint, "tasks_total")
    tasks = f", {done or 0} of {plural(total, 'task')} done" if total else ""
    return f"stands at {step}{tasks}; last word {age_of(moment, now)}", False
