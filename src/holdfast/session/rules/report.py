"""The completion report: how many steps succeeded, and which did not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypedDict

    StepStatus = Literal["ok", "skipped", "failed"]

    class Step(TypedDict):
        """What became of one step. `counts`: a skip that left nothing undone counts as success."""

        name: str
        status: StepStatus
        message: str
        cause: str
        counts: bool


PERSIST, SNAPSHOT, TRACKER, PROMPT = (
    "Persist progress",
    "Git snapshot",
    "Linear update",
    "Continuation prompt",
)
STEPS = {"manual": (PERSIST, SNAPSHOT, TRACKER, PROMPT), "automated": (PERSIST, TRACKER)}
CONSEQUENCES = {
    PERSIST: "progress not written to .ccc-progress.md",
    SNAPSHOT: "changes not committed",
    TRACKER: "status not persisted to issue tracker",
    PROMPT: "generic template printed instead",
}


def done(name: str, message: str = "") -> Step:
    return {"name": name, "status": "ok", "message": message, "cause": "", "counts": True}


def skipped(name: str, message: str, *, cause: str = "", counts: bool = True) -> Step:
    """Nothing to do, which counts; or something that was left undone for a cause, which does not."""
    return {"name": name, "status": "skipped", "message": message, "cause": cause, "counts": counts}


def failed(name: str, cause: str) -> Step:
    return {
        "name": name,
        "status": "failed",
        "message": f"{name}: {cause}",
        "cause": cause,
        "counts": False,
    }


def write(steps: Sequence[Step]) -> str:
    """The summary. Partial success is never hidden: each step that is left undone has its line."""
    succeeded = sum(step["counts"] for step in steps)
    lines = [f"Checkpoint complete: {succeeded}/{len(steps)} steps succeeded."]
    for step in steps:
        if not step["counts"]:
            word = "Failed" if step["status"] == "failed" else "Skipped"
            consequence = CONSEQUENCES[step["name"]]
            lines.append(f"{word}: {step['name']} ({step['cause']}) — {consequence}.")
    return "\n".join(lines)


def tally(steps: Sequence[Step]) -> str:
    """Which of the steps that count as succeeded were skipped; empty if none."""
    idle = [step["name"] for step in steps if step["status"] == "skipped" and step["counts"]]
    return f"Skipped, and counted as succeeded: {', '.join(idle)}." if idle else ""
