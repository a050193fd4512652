"""Where a track is: what its checkpoints say, wherever their writer put it, and what is wrong with them;
which status may follow which, and which step comes after one that ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.kernel.clock import instant_of
from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.text import nearest
from holdfast.loop.rules.model import (
    BLOCKED,
    BRAINSTORM,
    BUSINESS_SYNC,
    COMPLETE,
    EVALUATE_EXECUTION,
    EVALUATE_PLAN,
    EXECUTE,
    FAILED,
    FIX,
    IN_PROGRESS,
    NOT_STARTED,
    PASSED,
    PLAN,
    PROGRESS_EVERY,
    PROGRESS_NUMBERS,
    RUNNABLE,
    SKIPPED,
    STATUSES,
    STEPS,
    SUPERPOWERS,
    Escalation,
    LoopState,
)

# AMB-LOOP-15. Only a start leads back from an end.
LEGAL: Mapping[str, tuple[str, ...]] = {
    NOT_STARTED: (IN_PROGRESS,),
    IN_PROGRESS: (IN_PROGRESS, PASSED, FAILED, BLOCKED),
    PASSED: (),
    FAILED: (),
    BLOCKED: (),
    SKIPPED: (),
}
NEXT: Mapping[tuple[str, str], str] = {
    (BRAINSTORM, PASSED): PLAN,
    (PLAN, PASSED): EVALUATE_PLAN,
    (EVALUATE_PLAN, PASSED): EXECUTE,
    (EVALUATE_PLAN, FAILED): PLAN,
    (EXECUTE, PASSED): EVALUATE_EXECUTION,
    (EVALUATE_EXECUTION, PASSED): COMPLETE,
    (EVALUATE_EXECUTION, FAILED): FIX,
    (FIX, PASSED): EVALUATE_EXECUTION,
    (BUSINESS_SYNC, PASSED): COMPLETE,
}

# Those that every track goes through.
USUAL = (PLAN, EVALUATE_PLAN, EXECUTE, EVALUATE_EXECUTION)
_WORDS = {
    IN_PROGRESS: "make progress",
    PASSED: f"become {PASSED}",
    FAILED: f"become {FAILED}",
    BLOCKED: f"become {BLOCKED}",
}


def loop_of(state: LoopState) -> Mapping[str, Any]:
    return state["document"].get("loop_state") or {}


def checkpoints_of(state: LoopState) -> Mapping[str, Any]:
    """Every checkpoint by its step; one that is null counts as empty."""
    found = loop_of(state).get("checkpoints") or {}
    return {step: checkpoint or {} for step, checkpoint in found.items()}


def checkpoint_of(state: LoopState, step: str) -> Mapping[str, Any]:
    return (loop_of(state).get("checkpoints") or {}).get(step) or {}


def status_of(state: LoopState, step: str) -> str:
    return str(checkpoint_of(state, step).get("status") or NOT_STARTED)


def current_step(state: LoopState) -> str:
    """The step that a track has reached. A new track of the third format says NOT_STARTED, and means PLAN."""
    said = loop_of(state).get("current_step")
    return PLAN if not isinstance(said, str) or said in ("", NOT_STARTED) else said


def list_steps(state: LoopState) -> list[str]:
    """Return the steps that a track has been at or will come to; the optional ones where they are used."""
    known = {*checkpoints_of(state), current_step(state), *USUAL}
    return [step for step in RUNNABLE if step in known] + [
        step for step in checkpoints_of(state) if step not in STEPS
    ]


def count_done(checkpoint: Mapping[str, Any], name: str) -> int | None:
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


def newest(state_document: Mapping[str, Any]) -> int:
    """The time of the newest checkpoint in a document; 0 when none has a time."""
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
        yield f"status {status!r} is not one of {', '.join(STATUSES)}"
    if status not in (NOT_STARTED, SKIPPED):
        for name in ("started_at", "agent", "last_updated"):
            if not checkpoint.get(name):
                yield f"{name} is missing"
    for name in ("started_at", "completed_at", "last_updated"):
        yield from _time_problems(checkpoint, name)
    if status == IN_PROGRESS and checkpoint.get("completed_at"):
        yield "completed_at is set while it is in progress"
    started, updated = (instant_of(checkpoint.get(name)) for name in ("started_at", "last_updated"))
    if started is not None and updated is not None and updated < started:
        yield "last_updated is before started_at"
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
        count, total = count_done(checkpoint, done), count_done(checkpoint, all)
        if count is not None and total is not None and count > total:
            yield f"{done} is {count}, more than {all}, which is {total}"


# What may follow


def refuse_illegal(step: str, status: str, wanted: str) -> None:
    """Refuse a status that may not follow, naming those that may."""
    if wanted in LEGAL.get(status, ()):
        return
    legal = LEGAL.get(status, ())
    ways = ", ".join(legal) if legal else f"a new start, to {IN_PROGRESS}"
    hint = way_on(step)
    if status not in STATUSES:
        hint = f"The file says {status}; correct it, or begin again: {hint}"
    raise Conflict(
        f"{step} is {status}: it cannot {_WORDS[wanted]}. Legal from {status}: {ways}.",
        hint=hint if wanted != IN_PROGRESS or not legal else "",
        kind="illegal_transition",
    )


def step_after(step: str, status: str, *, business_sync: bool) -> str:
    """The next step by the table; refused where the table has none."""
    if step == EVALUATE_EXECUTION and status == PASSED and business_sync:
        return BUSINESS_SYNC
    following = NEXT.get((step, PASSED if status == SKIPPED else status))
    if following is None:
        ends = [ended for (known, ended) in NEXT if known == step]
        wanted = f" It advances once it is {' or '.join(ends)}." if ends else ""
        wanted = " The track is at its end." if step == COMPLETE else wanted
        ending = 'Say how it ended: holdfast loop pass, or holdfast loop fail "why"'
        raise Conflict(
            f"{step} is {status}: there is no step after that.{wanted}",
            hint=ending if status == IN_PROGRESS and ends else way_on(step),
            kind="illegal_transition",
        )
    return following


def following_step(state: LoopState, *, business_sync: bool = False) -> str:
    """The step after the current one, which has ended."""
    step = current_step(state)
    status = PASSED if step == COMPLETE else status_of(state, step)
    is_required = bool(checkpoint_of(state, BUSINESS_SYNC).get("required"))
    return step_after(step, status, business_sync=is_required or business_sync)


def upcoming_step(state: LoopState) -> str:
    """The step to run now: the current one, or the one after it once it has ended."""
    step = current_step(state)
    ended = step in RUNNABLE and (step, status_of(state, step)) in {
        *NEXT,
        *((each, SKIPPED) for each in RUNNABLE),
    }
    return following_step(state) if ended else step


def way_on(step: str) -> str:
    """The command that leads on from a step."""
    if step in RUNNABLE:
        return f"holdfast loop start {step}"
    if step == COMPLETE:
        return "To open it again: holdfast loop start PLAN"
    return f"There is no step {step}; begin one that there is: holdfast loop start PLAN"


def step_named(word: str) -> str:
    """The step that a word names, by its key or by the superpower that owns it."""
    known = SUPERPOWERS.get(word) or SUPERPOWERS.get(f"superpowers:{word}")
    step = known or word.upper().replace("-", "_")
    if step in RUNNABLE:
        return step
    if step == COMPLETE:
        raise Usage(
            f"{COMPLETE} is where a track ends; no work is done in it.",
            hint="`holdfast loop advance` leads there from the last step.",
        )
    near = nearest(step, STEPS, "") or nearest(word, SUPERPOWERS, "")
    known = f"Steps: {', '.join(RUNNABLE)}; or a superpower: {', '.join(SUPERPOWERS)}."
    raise Usage(f"There is no step {word!r}.", hint=f"{near} {known}".lstrip())
