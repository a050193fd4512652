"""What the agent command reads on its standard input: a task without a program of its own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.plans.rules.model import Plan, Task


def prompt_of(plan: Plan, task: Task, answers: Mapping[str, str]) -> str:
    lines = [f"# Phase {plan['phase']}, Plan {plan['plan']}: {task['name']}", "", task["action"]]
    if task["verify"]:
        lines += ["", "## Verify", "", task["verify"]]
    if plan["files_modified"]:
        lines += ["", "## Files", "", *(f"- {path}" for path in plan["files_modified"])]
    if answers:
        lines += ["", "## Decided by people", ""]
        lines += [f"- {name}: {answer}" for name, answer in answers.items()]
    return "\n".join(lines).rstrip() + "\n"


def fix_prompt(plan: Plan, task: Task, issues: str) -> str:
    """What a person found at a checkpoint, for the command that mends it."""
    assert task["gate"] is not None
    title = f"# Phase {plan['phase']}, Plan {plan['plan']}: issues at a checkpoint"
    return "\n".join(
        [title, "", f"Built: {task['gate']['title']}", "", "## Issues", "", issues, ""]
    )
