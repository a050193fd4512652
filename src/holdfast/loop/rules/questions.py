"""What a command says: its step, its numbers, its files; and what is wrong with them."""

from __future__ import annotations

from holdfast.kernel.errors import Usage
from holdfast.loop.rules.checkpoint import current_step
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.rules.updates import Pen, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.loop.rules.model import LoopState


def step_of(state: LoopState, command: Any) -> str:
    return step_named(command["step"]) if command.get("step") else current_step(state)


def body_of(pen: Pen, command: Any, **facts: Any) -> dict[str, Any]:
    body = {"step": pen.step, **facts}
    if command.get("attempt"):
        body["attempt"] = command["attempt"]
    return {**body, "changes": pen.done()}


def whole_of(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Usage(f"{name} must be a whole number that is not negative, not {value!r}.")
    return value


def refuse_too_many(name: str, done: int, total: int) -> None:
    if done > total:
        noun = "issues" if name == "issues_fixed" else "tasks"
        raise Usage(
            f"{done} {noun} done of {total} are more than there are.",
            hint=f"If the plan grew, say so: holdfast loop progress --{noun}-total {done}",
        )


def files_of(command: Any) -> list[str]:
    return [file for file in (one_line(file) for file in command.get("output_files") or []) if file]
