"""Which status may follow which, and which step comes after one that ended."""

from __future__ import annotations

from holdfast.kernel.errors import Conflict, Usage
from holdfast.loop.rules.checkpoint import checkpoint_of, current_step, status_of
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
    RUNNABLE,
    SKIPPED,
    STATUSES,
    STEPS,
    SUPERPOWERS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.loop.rules.model import LoopState

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

_WORDS = {
    IN_PROGRESS: "make progress",
    PASSED: f"become {PASSED}",
    FAILED: f"become {FAILED}",
    BLOCKED: f"become {BLOCKED}",
}


def refuse_illegal(step: str, status: str, wanted: str) -> None:
    """Refuse a status that may not follow, naming those that may."""
    if wanted in LEGAL.get(status, ()):
        return
    legal = LEGAL.get(status, ())
    ways = ", ".join(legal) if legal else f"a new start, to {IN_PROGRESS}"
    hint = way_on(step)
    if status not in STATUSES:
        hint = f"The file says {status}; correct it, or begin anew: {hint}"
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
    """The start that leads on from a step, where there is one."""
    if step in RUNNABLE:
        return f"holdfast loop start {step}"
    if step == COMPLETE:
        return "To open it again: holdfast loop start PLAN"
    return f"There is no step {step}; begin one that there is: holdfast loop start PLAN"


def step_named(word: str) -> str:
    """The step of a word: its key, or the superpower that owns it."""
    known = SUPERPOWERS.get(word) or SUPERPOWERS.get(f"superpowers:{word}")
    step = known or word.upper().replace("-", "_")
    if step in RUNNABLE:
        return step
    if step == COMPLETE:
        raise Usage(
            f"{COMPLETE} is where a track ends; no work is done in it.",
            hint="`holdfast loop advance` leads there from the last step.",
        )
    import difflib

    close = difflib.get_close_matches(step, STEPS, n=1) or difflib.get_close_matches(
        word, SUPERPOWERS, n=1
    )
    nearest = f"Did you mean {close[0]}? " if close else ""
    raise Usage(
        f"There is no step {word!r}.",
        hint=f"{nearest}Steps: {', '.join(RUNNABLE)}; or a superpower: {', '.join(SUPERPOWERS)}.",
    )
