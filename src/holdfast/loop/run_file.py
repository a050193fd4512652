"""The file of `loop run --with`: which program each step is."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.text import nearest
from holdfast.loop.rules.model import (
    BRAINSTORM,
    BUSINESS_SYNC,
    EVALUATE_EXECUTION,
    EVALUATE_PLAN,
    EXECUTE,
    FIX,
    METADATA,
    OWNERS,
    PLAN,
    RUNNABLE,
    LoopState,
)
from holdfast.loop.rules.orchestrator import OUTPUTS, command_of, resume_from
from holdfast.loop.rules.tasks import TrackTask, plain_tasks
from holdfast.processes.child import find_program


class StepPlan(TypedDict, total=False):
    """What the file says about a step; empty if it does not name the step."""

    command: list[str]
    skip: bool
    outputs: list[str]
    tasks: list[str]
    seconds: int


_TOP: Mapping[str, type] = {
    "runner": list,
    "context_files": list,
    "business_sync": bool,
    "steps": dict,
}
_STEP: Mapping[str, type] = {
    "command": list,
    "skip": bool,
    "outputs": list,
    "tasks": list,
    "seconds": int,
}
_NAMES: Mapping[type, str] = {
    list: "a list of texts",
    bool: "true or false",
    dict: "a table",
    int: "a whole number above 0",
}
SKIPPABLE = (BRAINSTORM, EVALUATE_PLAN, EVALUATE_EXECUTION, BUSINESS_SYNC)
PER_TASK = "{task}"


@dataclass(frozen=True)
class RunPlan:
    """The program of each step: its own, or the runner with the step's superpower."""

    path: str
    runner: list[str]
    context_files: list[str]
    business_sync: bool
    steps: dict[str, StepPlan]

    def refuse_unfit(self, root: str, step: str, business_sync: bool) -> None:
        """Refuse a plan in which a step that can come from here on has no program, or one that does not exist."""
        ahead = [EXECUTE, EVALUATE_EXECUTION, FIX]
        if step in (BRAINSTORM, PLAN, EVALUATE_PLAN):
            ahead = [PLAN, EVALUATE_PLAN, *ahead]
        ahead += [step] if step in RUNNABLE else []
        ahead += [BUSINESS_SYNC] if business_sync else []
        for one in dict.fromkeys(ahead):
            program = self.find_program(one)
            if program is None:
                skip = f", or [steps.{one}] skip = true" if one in SKIPPABLE else ""
                what, hint = f"there is no command for {one}", '["program", "..."]'
                raise _bad(self.path, what, f"Add [steps.{one}] command = {hint}{skip}.")
            if program and not _is_program(program, root):
                raise NotFound(
                    f"{self.path}: the program of {one} is not there: {program}.",
                    hint="A name is looked up in PATH, a path from the workspace's root.",
                    kind="no_program",
                )

    def find_program(self, step: str) -> str | None:
        """Return the program that a step starts: empty when the step is skipped, None when the file names none."""
        own = self.steps[step]
        if own.get("skip"):
            return ""
        if own.get("command"):
            return own["command"][0]
        return self.runner[0] if self.runner and step in OWNERS else None

    def is_per_task(self, step: str) -> bool:
        """Whether EXECUTE is one program a task: its command then names the task."""
        return step == EXECUTE and any(PER_TASK in word for word in self.command(step))

    def command(self, step: str) -> list[str]:
        """Return the command of a step, as the file says it; empty for a superpower."""
        return self.steps[step].get("command") or []

    def choose_tasks(self, written: list[TrackTask]) -> list[TrackTask]:
        """Return the tasks of the file, else those of plan.md."""
        named = self.steps[EXECUTE].get("tasks")
        return plain_tasks(named) if named else written

    def fill_command(self, state: LoopState, step: str, task: TrackTask | None) -> list[str]:
        """Return the program to start, and its arguments."""
        own = self.command(step)
        if not own:
            return [*self.runner, *command_of(state, step, self.context_files)]
        return [_fill(word, state, step, task) for word in own]

    def list_outputs(self, state: LoopState, step: str) -> list[str]:
        """Return the files that a step is to leave behind, relative to the workspace's root."""
        own = self.steps[step].get("outputs")
        if own is not None:
            return [_fill(word, state, step, None) for word in own]
        return [f"{state['folder']}/{name}" for name in OUTPUTS.get(step, ())]


def read(path: str) -> RunPlan:
    """The plan of a file; each error in it is reported before a program runs."""
    try:
        document = tomllib.loads(read_plain(path).decode())
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _bad(path, f"it is not TOML: {error}") from None
    except RecursionError:
        raise _bad(path, "it is not TOML: nested too deeply") from None
    except OSError as error:
        raise _bad(path, f"it cannot be read: {error.strerror}") from None
    _check(path, "", document, _TOP)
    steps: dict[str, StepPlan] = {step: {} for step in RUNNABLE}
    for name, table in document.get("steps", {}).items():
        if name not in RUNNABLE:
            raise _bad(path, f"there is no step {name!r}", nearest(name, RUNNABLE))
        if not isinstance(table, dict):
            raise _bad(path, f"steps.{name} must be a table")
        _check(path, f"steps.{name}.", table, _STEP)
        _check_step(path, name, table)
        steps[name] = table  # type: ignore[assignment]
    return RunPlan(
        path,
        document.get("runner", []),
        document.get("context_files", []),
        document.get("business_sync", False),
        steps,
    )


def _check(path: str, prefix: str, table: Mapping[str, Any], known: Mapping[str, type]) -> None:
    for name, value in table.items():
        if name not in known:
            raise _bad(path, f"there is no setting {prefix}{name}", nearest(name, known))
        kind = known[name]
        wrong = type(value) is not kind or (isinstance(value, int) and kind is int and value < 1)
        if kind is list and not wrong:
            wrong = any(not isinstance(item, str) or "\0" in item for item in value)
        if wrong:
            raise _bad(path, f"{prefix}{name} must be {_NAMES[kind]}, not {value!r}")


def _check_step(path: str, name: str, table: Mapping[str, Any]) -> None:
    if "command" in table and not table["command"]:
        raise _bad(path, f"steps.{name}.command is empty")
    if table.get("skip") and name not in SKIPPABLE:
        raise _bad(path, f"{name} cannot be skipped")
    if table.get("skip") and "command" in table:
        raise _bad(path, f"steps.{name} has a command and is to be skipped")
    if "tasks" in table and name != EXECUTE:
        raise _bad(path, f"only {EXECUTE} has tasks, not {name}")
    tasks = table.get("tasks", [])
    if len(set(tasks)) < len(tasks) or not all(task.strip() for task in tasks):
        raise _bad(path, f"steps.{name}.tasks must be names that differ")


def _bad(path: str, what: str, hint: str = "") -> HoldfastError:
    return HoldfastError(f"{path}: {what}.", hint=hint, kind="bad_config")


def _is_program(program: str, root: str) -> bool:
    if "{" in program:
        return True
    path = os.path.join(root, program) if os.sep in program else program
    return bool(find_program(path))


def _fill(word: str, state: LoopState, step: str, task: TrackTask | None) -> str:
    for name, value in variables_of(state, step, task).items():
        word = word.replace("{" + name + "}", value)
    return word


def variables_of(state: LoopState, step: str, task: TrackTask | None) -> dict[str, str]:
    """The values for a program: in braces in its command, and in its environment as LOOP_NAME."""
    return {
        "track": state["track"],
        "track_dir": state["folder"],
        "metadata": f"{state['folder']}/{METADATA}",
        "step": step,
        "task": task["id"] if task else "",
        "task_title": task["title"] if task else "",
        "resume_from": resume_from(state) if step == EXECUTE else "",
    }
