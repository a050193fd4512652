"""What a person reads when the orchestrator cannot go on by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.loop.rules.checkpoint import (
    checkpoint_of,
    counted,
    current_step,
    loop_of,
    said,
    status_of,
    waiting_for,
)
from holdfast.loop.rules.model import BLOCKED, COMPLETE, FIX

if TYPE_CHECKING:
    from holdfast.loop.rules.model import Escalation, LoopState

HEADING = "Orchestrator Paused — User Input Required"


def text(state: LoopState, step: str, reason: str) -> list[str]:
    """The escalation, line by line: track, step, reason, context, options."""
    return [
        HEADING,
        "",
        f"Track: {state['track']}",
        f"Current Step: {step}",
        f"Reason: {reason}",
        "Context:",
        *(f"  {line}" for line in context(state, step)),
        "Options:",
        *(f"  {number}. {option}" for number, option in enumerate(options(state, step), 1)),
    ]


def context(state: LoopState, step: str) -> list[str]:
    checkpoint = checkpoint_of(state, step)
    lines = [f"{step} is {status_of(state, step)}"]
    if said(checkpoint, "notes"):
        lines.append(said(checkpoint, "notes"))
    done, total = counted(checkpoint, "tasks_completed"), counted(checkpoint, "tasks_total")
    if total is not None:
        last = said(checkpoint, "last_task")
        lines.append(f"{done or 0} of {total} tasks done" + (f", last {last}" if last else ""))
    loop = loop_of(state)
    lines.append(
        f"{loop.get('fix_cycle_count', 0)} of {loop.get('max_fix_cycles', 0)} fix cycles used"
    )
    return lines


def options(state: LoopState, step: str) -> list[str]:
    """What a person can do now, as commands."""
    track = f"--track {state['track']}"
    if step == COMPLETE:
        return [f"holdfast loop show {track}"]
    limit = loop_of(state).get("max_fix_cycles", 0)
    is_limit = step == FIX and status_of(state, FIX) == BLOCKED
    again = f"holdfast loop start {step} {track}"
    if is_limit and isinstance(limit, int):
        again += f" --max-fix-cycles {limit + 1}"
    return [
        f"Look closer: holdfast loop show {track} --log",
        f"Remove the cause, then: {again}",
        f"Begin elsewhere, such as with a new plan: holdfast loop start PLAN --resolve {track}",
    ]


def pause_of(state: LoopState) -> Escalation | None:
    """Why a track waits for a person, and at which step; None when it does not."""
    escalated = state["escalated"]
    if escalated is not None and escalated["step"] != current_step(state):
        escalated = None
    return waiting_for(state) or escalated
