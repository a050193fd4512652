"""Reading a checkpoint: what it says, wherever its writer put it, and what is wrong with it."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.loop.rules.model import (
    COMPLETE,
    IN_PROGRESS,
    NOT_STARTED,
    PLAN,
    PROGRESS_EVERY,
    PROGRESS_NUMBERS,
    SKIPPED,
    STATUSES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from holdfast.loop.rules.model import Escalation, LoopState


def loop_of(state: LoopState) -> Mapping[str, Any]:
    return state["document"].get("loop_state") or {}


def checkpoints_of(state: LoopState) -> Mapping[str, Any]:
    """Every checkpoint by its step; one that is null counts as empty."""
    found = loop_of(state).get("checkpoints") or {}
    return {step: checkpoint or {} for step, checkpoint in found.items()}


def checkpoint_of(state: LoopState, step: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = checkpoints_of(state).get(step, {})
    return found


def status_of(state: LoopState, step: str) -> str:
    return str(checkpoint_of(state, step).get("status") or NOT_STARTED)


def current_step(state: LoopState) -> str:
    """The step a track is at. A new track of the third format says NOT_STARTED, and means PLAN."""
    said = loop_of(state).get("current_step")
    return PLAN if not isinstance(said, str) or said in ("", NOT_STARTED) else said


def counted(checkpoint: Mapping[str, Any], name: str) -> int | None:
    """A counter at the checkpoint's level, else in its progress; None where it was not counted."""
    for place in (checkpoint, checkpoint.get("progress") or {}):
        value = place.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def said(checkpoint: Mapping[str, Any], name: str) -> str:
    """A text at the checkpoint's level, else in its progress."""
    for place in (checkpoint, checkpoint.get("progress") or {}):
        value = place.get(name)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
            return str(value)
    return ""


def active_blockers(state: LoopState) -> list[Mapping[str, Any]]:
    return [
        blocker
        for blocker in state["document"].get("blockers") or []
        if isinstance(blocker, dict) and blocker.get("status") == "ACTIVE"
    ]


def waiting_for(state: LoopState) -> Escalation | None:
    """The blocker that a track waits for, the current step's before another's; None at its end."""
    step, found = current_step(state), active_blockers(state)
    if not found or step == COMPLETE:
        return None
    mine = [one for one in found if one.get("blocked_step") == step]
    blocker = (mine or found)[-1]
    reason = " ".join(str(blocker.get("description") or "").split()) or "blocked"
    return {"step": str(blocker.get("blocked_step") or step), "reason": reason}


def instant_of(text: object) -> int | None:
    """The instant of a time as others write it: without a zone it is UTC, an offset is counted in."""
    if not isinstance(text, str):
        return None
    at, shift = text.strip().replace(" ", "T", 1), 0
    sign, zone = at[-6:-5], at[-5:]
    if sign in ("+", "-") and zone[2:3] == ":" and (zone[:2] + zone[3:]).isdigit():
        shift = (int(zone[:2]) * 60 + int(zone[3:])) * clock.MINUTE * (1 if sign == "+" else -1)
        at = at[:-6]
    try:
        return clock.parse(at if at.endswith("Z") else f"{at}Z") - shift
    except ValueError:
        return None


def newest(state_document: Mapping[str, Any]) -> int:
    """When the document was last updated, by its own words; 0 when it has none."""
    loop = state_document.get("loop_state") or {}
    stamps = [(each or {}).get("last_updated") for each in (loop.get("checkpoints") or {}).values()]
    return max((instant_of(stamp) or 0 for stamp in stamps), default=0)


def is_due(state: LoopState, now: int) -> bool:
    """Whether PLAN should say how far it is: five minutes after it last did."""
    checkpoint = checkpoint_of(state, PLAN)
    last = instant_of(checkpoint.get("last_updated"))
    running = checkpoint.get("status") == IN_PROGRESS
    return running and (last is None or now - last >= PROGRESS_EVERY)


def problems(checkpoint: Mapping[str, Any]) -> Iterator[str]:
    """What a checkpoint lacks, or has wrong, by the protocol's table of fields."""
    status = checkpoint.get("status")
    if status is None:
        yield "status is missing"
    elif status not in (*STATUSES, SKIPPED):
        yield f"status {status!r} is none of {', '.join(STATUSES)}"
    if status not in (NOT_STARTED, SKIPPED):
        for name in ("started_at", "agent", "last_updated"):
            if not checkpoint.get(name):
                yield f"{name} is missing"
    for name in ("started_at", "completed_at", "last_updated"):
        yield from _time_problems(checkpoint, name)
    if status == IN_PROGRESS and checkpoint.get("completed_at"):
        yield "completed_at is set while it is in progress"
    yield from _order_problems(checkpoint)
    for name in ("agent", "notes"):
        if checkpoint.get(name) is not None and not isinstance(checkpoint[name], str):
            yield f"{name} is not a text"
    if any(not isinstance(file, str) for file in checkpoint.get("output_files") or []):
        yield "output_files holds something that is no text"
    yield from _progress_problems(checkpoint)


def _time_problems(checkpoint: Mapping[str, Any], name: str) -> Iterator[str]:
    text = checkpoint.get(name)
    if text is None:
        return
    if instant_of(text) is None:
        yield f"{name} is not a time: {text!r}"
    elif not (len(text) == 20 and text.endswith("Z")):
        yield f"{name} is not written as YYYY-MM-DDTHH:MM:SSZ: {text!r}"


def _order_problems(checkpoint: Mapping[str, Any]) -> Iterator[str]:
    started, updated = (instant_of(checkpoint.get(name)) for name in ("started_at", "last_updated"))
    if started is not None and updated is not None and updated < started:
        yield "last_updated is before started_at"


def _progress_problems(checkpoint: Mapping[str, Any]) -> Iterator[str]:
    progress = checkpoint.get("progress") or {}
    for name in PROGRESS_NUMBERS:
        value = progress.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            yield f"progress.{name} is not a count: {value!r}"
    task = progress.get("current_task", "")
    if task is not None and not isinstance(task, str):
        yield f"progress.current_task is not a text: {task!r}"
    for done, all in (("tasks_completed", "tasks_total"), ("issues_fixed", "issues_total")):
        count, total = counted(checkpoint, done), counted(checkpoint, all)
        if count is not None and total is not None and count > total:
            yield f"{done} is {count}, more than {all}, which is {total}"
