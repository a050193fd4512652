"""The programs of a task, their input and their environment; and the goals of a phase."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from holdfast.kernel.errors import HoldfastError
from holdfast.plans.executors import TaskWork
from holdfast.plans.rules import model
from holdfast.plans.rules.model import Plan, PlanTask
from holdfast.plans.rules.run_model import PASSED, RunState
from holdfast.plans.runs import RunFolder
from holdfast.plans.worktrees import Worktrees
from holdfast.processes.supervisor import Stage

# Given a phase and its plans, what of it is not met.
OnGoals = Callable[[str, list[Plan]], Iterable[str]]


SHELL = ("/bin/sh", "-c")
RUN, VERIFY, AGENT, FIX = "run", "verify", "agent", "fix"
MILLISECOND = 0.001
MOST = 50
SECONDS = 600


def answers_of(state: RunState, plan: str) -> dict[str, str]:
    """The answers of people, by the name of the gate. A name that an author chose is known in the whole
    run, another one only in its own plan."""
    found = {}
    for id, each in state["plans"].items():
        for task in each["plan"]["tasks"]:
            gate = each["gates"].get(task["key"])
            name = task["gate_name"]
            if gate is None or gate["status"] != PASSED:
                continue
            if id == plan or model.is_given(name):
                found[name] = gate["answer"]
    return found


class TaskPrograms:
    """The programs of one plan's tasks, as jobs."""

    def __init__(
        self, state: RunState, plan: Plan, place: RunFolder, settings: Mapping[str, Any]
    ) -> None:
        self._plan = plan
        self._place = place
        self._settings = settings
        self._answers = answers_of(state, plan["id"])
        self._around = {
            "HOLDFAST_RUN": state["id"],
            "HOLDFAST_PHASE": plan["phase"],
            "HOLDFAST_PLAN": plan["plan"],
            **{model.variable(name): answer for name, answer in self._answers.items()},
        }

    def of_task(self, task: PlanTask, mark: str, log: str, folder: str) -> TaskWork:
        """Return a task's `<run>` and then its `<verify>` as commands; without `<run>`, the agent, which
        reads all of the task."""
        stages: list[Stage] = []
        if task["run"]:
            stages.append(_shell(RUN, self._fill(task["run"], quoted=True)))
            if task["verify"]:
                stages.append(_shell(VERIFY, self._fill(task["verify"], quoted=True)))
        else:
            prompt = self._fill(prompt_of(self._plan, task, self._answers), quoted=False)
            stages.append(_shell(AGENT, self._agent(task["key"]), prompt))
        return self._make_work(task, stages, {}, mark, log, folder)

    def of_issues(self, task: PlanTask, issues: str, mark: str, log: str, folder: str) -> TaskWork:
        """Return the program that mends what a person found at a checkpoint; AMB-PILOT-17."""
        stages = [_shell(FIX, self._settings["plan.fix"], fix_prompt(self._plan, task, issues))]
        return self._make_work(task, stages, {"HOLDFAST_ISSUES": issues}, mark, log, folder)

    def _make_work(
        self,
        task: PlanTask,
        stages: list[Stage],
        more: Mapping[str, str],
        mark: str,
        log: str,
        folder: str,
    ) -> TaskWork:
        limit = task["timeout"] * MILLISECOND if task["timeout"] else None
        around = {**self._around, "HOLDFAST_TASK": f"{self._plan['id']}#{task['key']}", **more}
        seconds = limit or float(self._settings["plan.seconds"]) or None
        how: Any = {"folder": folder, "environment": around, "seconds": seconds}
        return {**self._place.make_job(mark, log, stages, **how), "needs": task["needs"]}

    def _fill(self, text: str, *, quoted: bool) -> str:
        return model.fill(text, self._answers, quoted=quoted)

    def _agent(self, key: str) -> str:
        command = str(self._settings["plan.agent"])
        if not command.strip():
            raise HoldfastError(
                f"Task {key} has no <run>, and there is no agent to give it to.",
                hint='Set plan.agent, such as "claude -p", or give the task a <run>.',
                kind="no_agent",
            )
        return command


def _shell(name: str, command: str, input: str = "") -> Stage:
    return {"name": name, "words": [*SHELL, command], "input": input}


# What an agent reads on its standard input
def prompt_of(plan: Plan, task: PlanTask, answers: Mapping[str, str]) -> str:
    lines = [f"# Phase {plan['phase']}, Plan {plan['plan']}: {task['name']}", "", task["action"]]
    if task["verify"]:
        lines += ["", "## Verify", "", task["verify"]]
    if plan["files_modified"]:
        lines += ["", "## Files", "", *(f"- {path}" for path in plan["files_modified"])]
    if answers:
        lines += ["", "## Decided by people", ""]
        lines += [f"- {name}: {answer}" for name, answer in answers.items()]
    return "\n".join(lines).rstrip() + "\n"


def fix_prompt(plan: Plan, task: PlanTask, issues: str) -> str:
    """What a person found at a checkpoint, as input of the program that mends it."""
    assert task["gate"] is not None
    title = f"# Phase {plan['phase']}, Plan {plan['plan']}: issues at a checkpoint"
    built = f"Built: {task['gate']['title']}"
    return "\n".join([title, "", built, "", "## Issues", "", issues, ""])


def unmet_goals(
    worktrees: Worktrees,
    state: RunState,
    phase: str,
    settings: Mapping[str, Any],
    on_goals: OnGoals | None,
) -> list[str]:
    """The goals of a phase that are not met; AMB-PILOT-33."""
    plans = [
        state["plans"][id]["plan"]
        for each in state["phases"]
        if each["phase"] == phase
        for wave in each["waves"]
        for id in wave
    ]
    found = [
        f"{plan['id']}: {path} is not there"
        for plan in plans
        for path in _artifacts(plan)
        if not worktrees.has_file(path)
    ]
    command = str(settings["plan.goals"]).strip()
    if command:
        found += _ask_command(state["root"], command, phase, plans)
    if on_goals is not None:
        found += on_goals(phase, plans)
    return found[:MOST]


def _artifacts(plan: Plan) -> Iterator[str]:
    """The files that `must_haves` names."""
    named = plan["must_haves"].get("artifacts")
    for one in named if isinstance(named, list) else []:
        path = one.get("path") if isinstance(one, dict) else one
        if isinstance(path, str) and path.strip():
            yield path.strip()


def _ask_command(root: str, command: str, phase: str, plans: list[Plan]) -> Iterator[str]:
    """Run the command of `plan.goals`: each line that it prints is an unmet goal, and so is its
    failure."""
    given = json.dumps({"phase": phase, "plans": {one["id"]: one["must_haves"] for one in plans}})
    try:
        done = subprocess.run(
            [*SHELL, command],
            cwd=root,
            env={**os.environ, "HOLDFAST_PHASE": phase},
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield f"plan.goals had no end after {SECONDS} s"
        return
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    yield from lines
    if done.returncode and not lines:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        yield f"plan.goals failed: {said[0]}"
