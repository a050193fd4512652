"""Plans for programs: `workspace.plans.run(["plans"])`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from holdfast.budgets.limits import PROJECT_FILE
from holdfast.kernel.git_exclude import hide_new
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace
from holdfast.plans import operations, runs
from holdfast.plans.discovery import NewPlan, NewPlanRequest, write_plan
from holdfast.plans.operations import RunOutcome, RunRequest, check_plans
from holdfast.plans.rules.run_model import RunState
from holdfast.plans.runner import Execution, RunContext
from holdfast.plans.task_programs import OnGoals


class PlanResult(operations.RunResult):
    """How a run ended, and what lint says about its plans."""

    warnings: list[str]


class Plans:
    """The plans of a workspace, and their runs. No person is asked here: a run that needs one
    is paused, and `resume` goes on once the gate is answered."""

    def __init__(self, workspace: Workspace, *, actor: str) -> None:
        self._workspace = workspace
        self._writer = open_writer(workspace)
        self._actor = actor

    def new(self, name: str = "", *, title: str = "", ui: bool = False) -> NewPlan:
        """Write a plan to begin with; `name` is PHASE/PLAN, by default the next of the latest phase."""
        return write_plan(self._workspace, NewPlanRequest(name=name, title=title, ui=ui))

    def run(
        self,
        paths: Sequence[str] = (),
        *,
        on_goals: OnGoals | None = None,
        jobs: int | None = None,
        phase: str = "",
        task: str = "",
        worktrees: bool = False,
        again: bool = False,
        on: str | None = None,
    ) -> PlanResult:
        """Run plans, until the run ends or is paused. `on_goals` gets each phase and its plans when
        they are done, and returns the goals that are not met; any keeps the next phase from beginning.
        `on` is the scheduler of a cluster, or `local`; without it, the setting `plan.on`.
        """
        hide_new(self._workspace, [PROJECT_FILE.partition("/")[0]])
        warnings: list[str] = []
        plans = check_plans(self._workspace, paths, os.getcwd(), warnings.append)
        request = RunRequest(
            plans=plans,
            phase=phase,
            task=task,
            worktrees=worktrees,
            again=again,
            execution=Execution(jobs=jobs, on=on, on_goals=on_goals),
        )
        return _result(operations.run(self._context(), request), warnings)

    def resume(
        self,
        run: str = "",
        *,
        on_goals: OnGoals | None = None,
        jobs: int | None = None,
        edited: Literal["", "old", "new"] = "",
        on: str | None = None,
    ) -> PlanResult:
        """Go on exactly where a run stopped; without an id, with the newest that is not finished."""
        execution = Execution(jobs=jobs, edited=edited, on=on, on_goals=on_goals)
        return _result(operations.resume(self._context(), run, execution), [])

    def abandon(self, run: str = "", *, reason: str) -> RunState:
        """Give a run up for good: what it asked people is withdrawn, and its plans can be run anew."""
        return operations.abandon(self._context(), run, reason=reason)["state"]

    def show(self, run: str = "") -> RunState:
        """What is known of a run, by its id or a unique beginning of it."""
        return runs.find_run(self._workspace, run)

    def _context(self) -> RunContext:
        return RunContext(writer=self._writer, actor=self._actor)


def _result(outcome: RunOutcome, warnings: list[str]) -> PlanResult:
    return {**operations.describe(outcome), "warnings": warnings}
