"""What the orchestrator calls each superpower with, what its exit code means, and what a person reads when
the orchestrator cannot go on by itself."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.kernel.text import quote
from holdfast.loop.rules.checkpoint import (
    checkpoint_of,
    count_done,
    current_step,
    loop_of,
    said,
    status_of,
    waiting_for,
)
from holdfast.loop.rules.model import (
    BLOCKED,
    BRAINSTORM,
    COMPLETE,
    EXECUTE,
    FIX,
    METADATA,
    OWNERS,
    PLAN,
    Escalation,
    LoopState,
)

# The file that a superpower cannot begin without, and those that it leaves behind.
INPUTS = {PLAN: "spec.md", EXECUTE: "plan.md", FIX: "evaluation-report.md"}
OUTPUTS: dict[str, tuple[str, ...]] = {
    PLAN: ("plan.md",),
    BRAINSTORM: ("brainstorm/options.md", "brainstorm/recommendation.md"),
    FIX: ("fix-log.md",),
}
# Exit codes; every other one is a failure.
OK, FAILURE, MISSING_PARAMETER, FILE_NOT_FOUND, BLOCKED_DEPENDENCY = range(5)
MEANINGS = {
    FAILURE: "failure",
    MISSING_PARAMETER: "missing parameter",
    FILE_NOT_FOUND: "file not found",
    BLOCKED_DEPENDENCY: "blocked dependency",
}
HEADING = "Orchestrator Paused — User Input Required"


def parameters(state: LoopState, step: str, context_files: Sequence[str] = ()) -> list[str]:
    """The parameters of a step's superpower; none for a step that has no superpower."""
    folder = state["folder"]
    track = ["--track-id", state["track"]]
    metadata = ["--metadata", f"{folder}/{METADATA}"]
    if step == PLAN:
        context = ["--context-files", ",".join(context_files)] if context_files else []
        spec = ["--spec", f"{folder}/spec.md", "--output-dir", folder]
        return [*spec, *context, *track, *metadata]
    if step == EXECUTE:
        last = resume_from(state)
        resume = ["--resume-from", last] if last else []
        plan = ("--plan", f"{folder}/plan.md", "--track-dir", folder)
        return [*plan, *metadata, *track, *resume]
    if step == FIX:
        failures = ("--failures", f"{folder}/evaluation-report.md", "--track-dir", folder)
        return [*failures, *metadata, *track]
    if step == BRAINSTORM:
        # It takes no --metadata; the track's id leads to it. AMB-LOOP-17
        return ["--context", f"{folder}/spec.md", "--output-dir", f"{folder}/brainstorm", *track]
    return []


def resume_from(state: LoopState) -> str:
    """The last completed task of EXECUTE, which is what `--resume-from` names."""
    return said(checkpoint_of(state, EXECUTE), "last_task")


def command_of(state: LoopState, step: str, context_files: Sequence[str] = ()) -> list[str]:
    """The superpower of a step with its parameters."""
    name = OWNERS.get(step)
    return [name, *parameters(state, step, context_files)] if name else []


def escalation_text(state: LoopState, step: str, reason: str) -> list[str]:
    """The escalation, line by line: track, step, reason, context, options."""
    return [
        HEADING,
        "",
        f"Track: {state['track']}",
        f"Current Step: {step}",
        f"Reason: {reason}",
        "Context:",
        *[f"  {line}" for line in escalation_context(state, step)],
        "Options:",
        *[f"  {at}. {one}" for at, one in enumerate(escalation_options(state, step), 1)],
    ]


def escalation_context(state: LoopState, step: str) -> list[str]:
    checkpoint = checkpoint_of(state, step)
    lines = [f"{step} is {status_of(state, step)}"]
    if said(checkpoint, "notes"):
        lines.append(said(checkpoint, "notes"))
    done, total = count_done(checkpoint, "tasks_completed"), count_done(checkpoint, "tasks_total")
    if total is not None:
        last = said(checkpoint, "last_task")
        lines.append(f"{done or 0} of {total} tasks done" + (f", last {last}" if last else ""))
    loop = loop_of(state)
    lines.append(
        f"{loop.get('fix_cycle_count', 0)} of {loop.get('max_fix_cycles', 0)} fix cycles used"
    )
    return lines


def escalation_options(state: LoopState, step: str) -> list[str]:
    """What a person can do now, as commands."""
    track = f"--track {quote(state['track'])}"
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
