"""What each superpower is called with, and what its exit code means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.loop.rules.checkpoint import checkpoint_of, said
from holdfast.loop.rules.model import BRAINSTORM, EXECUTE, FIX, METADATA, OWNERS, PLAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.loop.rules.model import LoopState

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


def parameters(state: LoopState, step: str, context_files: Sequence[str] = ()) -> list[str]:
    """The parameters of a step's superpower; none for a step that has no superpower."""
    folder = state["folder"]
    track = ["--track-id", state["track"]]
    metadata = ["--metadata", f"{folder}/{METADATA}"]
    if step == PLAN:
        context = ["--context-files", ",".join(context_files)] if context_files else []
        return [
            *("--spec", f"{folder}/spec.md", "--output-dir", folder),
            *context,
            *track,
            *metadata,
        ]
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
