"""A step begins, or goes on; FIX begins three times."""

from __future__ import annotations

from holdfast.kernel.rules import Decision
from holdfast.loop.rules.acceptance import take_in
from holdfast.loop.rules.checkpoint import active_blockers, counted, loop_of, status_of
from holdfast.loop.rules.model import (
    BLOCKED,
    EXECUTE,
    FIX,
    FIX_LIMIT,
    IN_PROGRESS,
    MAX_FIX_CYCLES,
    NOT_STARTED,
    OWNERS,
    PASSED,
    SKIPPED,
)
from holdfast.loop.rules.updates import (
    OF_ONE_ATTEMPT,
    Pen,
    note_of,
    one_line,
    refuse_too_many,
    step_of,
    whole,
    whole_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.loop.rules.model import LoopState


def start(state: LoopState, command: Any, now: int) -> Decision:
    """A new attempt, or going on with one that is in progress: then nothing is forgotten."""
    step = step_of(state, command)
    pen, status = Pen(state, step, now), status_of(state, step)
    agent = one_line(command.get("agent") or OWNERS.get(step) or command.get("actor") or "unknown")
    limit = whole_of(command, "max_fix_cycles")
    if limit is not None:
        pen.loop("max_fix_cycles", limit)
    again = status == IN_PROGRESS and not command.get("reset")
    if step == FIX and not again:
        count = cycles_of(state)
        if count >= (limit if limit is not None else limit_of(state)):
            return over_the_limit(state, now)
        pen.loop("fix_cycle_count", count + 1)
    pen.status(IN_PROGRESS)
    pen.set("agent", agent)
    if not again:
        _begin(pen, keep=not command.get("reset") and _keeps(step, status))
        if step == FIX:
            pen.set("cycle", cycles_of(state) + 1)
    started = pen.checkpoint.get("started_at") if again else pen.now
    pen.set("started_at", started or pen.now)
    pen.loop("step_started_at", started or pen.now)
    _resolve_blockers(pen, all=bool(command.get("resolve")))
    totals = {
        EXECUTE: ("tasks_total", "tasks_completed"),
        FIX: ("issues_total", "issues_fixed"),
    }.get(step)
    if totals:
        given = whole_of(command, totals[0])
        if given is not None:
            done = counted(pen.checkpoint, totals[1]) or 0
            if step == EXECUTE:
                done = take_in(pen, command.get("done_tasks") or [])
            refuse_too_many(totals[1], done, given)
            pen.count(totals[0], given)
            pen.count(totals[1], done)
    body: dict[str, Any] = {"step": step, "agent": agent, "again": again}
    if not state["opened"] and command.get("folder"):
        body["folder"] = command["folder"]
    return Decision([("started", {**body, "changes": pen.done(begun=not again)})])


def _keeps(step: str, status: str) -> bool:
    """Whether a new start keeps what was done: tasks never run twice, a cycle of FIX is a new one, and
    a status that we do not know is no reason to forget anything."""
    if step in (EXECUTE, FIX):
        return step == EXECUTE
    return status not in (NOT_STARTED, PASSED, SKIPPED)


def _begin(pen: Pen, *, keep: bool) -> None:
    """A fresh checkpoint."""
    pen.set("completed_at", None)
    pen.set("output_files", [])
    pen.set("notes", "")
    for name in () if keep else OF_ONE_ATTEMPT:
        pen.cut(name)
    if not keep:
        # What was cut is not there to be compared with.
        pen.checkpoint = {
            name: value for name, value in pen.checkpoint.items() if name not in OF_ONE_ATTEMPT
        }


def _resolve_blockers(pen: Pen, *, all: bool) -> None:
    """An explicit start is how a person says that the way is free again."""
    for position, blocker in enumerate(pen.state["document"].get("blockers") or []):
        if blocker not in active_blockers(pen.state):
            continue
        if all or blocker.get("blocked_step") == pen.step:
            pen.resolve(position)


def over_the_limit(state: LoopState, now: int) -> Decision:
    """The fourth cycle is not run: FIX is blocked until a person decides."""
    pen = Pen(state, FIX, now)
    description = FIX_LIMIT.format(count=cycles_of(state))
    pen.loop("current_step", FIX)
    pen.loop("step_status", BLOCKED)
    pen.set("started_at", pen.now)
    pen.set("agent", pen.checkpoint.get("agent") or OWNERS[FIX])
    pen.end(BLOCKED, note_of(BLOCKED, description))
    standing = [one for one in active_blockers(state) if one.get("blocked_step") == FIX]
    blocker = standing[0] if standing else pen.block(description)
    body = {"step": FIX, "notes": description, "blocker": blocker, "changes": pen.done()}
    escalated = {"step": FIX, "reason": description, "changes": []}
    return Decision([("blocked", body), ("escalated", escalated)])


def cycles_of(state: LoopState) -> int:
    return whole(loop_of(state), "fix_cycle_count") or 0


def limit_of(state: LoopState) -> int:
    limit = whole(loop_of(state), "max_fix_cycles")
    return MAX_FIX_CYCLES if limit is None else limit
