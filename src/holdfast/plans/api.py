"""Plans for programs: `workspace.plans.run(["plans"])`."""

from __future__ import annotations

import os

from holdfast.kernel import config
from holdfast.plans import lookup
from holdfast.plans.abandon import abandon
from holdfast.plans.begin import begin
from holdfast.plans.check import checked
from holdfast.plans.cluster.address import Certificates
from holdfast.plans.executor_choice import cluster, run_to_end
from holdfast.plans.rules.ready import waiting_gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Literal, TypedDict

    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.plans.cluster.link import Link
    from holdfast.plans.goals import OnGoals
    from holdfast.plans.news import Halted
    from holdfast.plans.rules.run_model import RunState

    class Result(TypedDict):
        """How a run ended. When it is paused, `reason` and `text` say why, and `gates` are those that
        wait for a person. `warnings` are what lint says of the plans."""

        run: str
        ended: Literal["done", "paused"]
        reason: str
        text: str
        waypoint: str
        gates: list[str]
        done: int
        total: int
        warnings: list[str]


class Plans:
    """The plans of a workspace, and their runs. Nobody is asked anything: a run that needs a person
    is paused, and `resume` goes on once the gate is answered."""

    def __init__(self, workspace: Workspace, writer: Writer, *, actor: str) -> None:
        self._workspace = workspace
        self._writer = writer
        self._actor = actor

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
    ) -> Result:
        """Run plans, until the run ends or is paused. `on_goals` gets each phase and its plans when
        they are done, and returns the goals that are not met; any keeps the next phase from beginning.
        `on` is the scheduler of a cluster, or `local`; without it, the setting `plan.on`.
        """
        settings = config.load(self._workspace, self._workspace.journal)
        warnings: list[str] = []
        plans = checked(self._workspace, paths, os.getcwd(), warnings.append)
        with self._cluster(on) as link:
            id = begin(
                self._writer,
                plans,
                {
                    "jobs": jobs or settings["plan.jobs"] or 1,
                    "tries": settings["plan.tries"] or 1,
                    "worktrees": worktrees,
                    "phase": phase,
                    "task": task,
                },
                actor=self._actor,
                again=again,
            )
            return {**self._to_the_end(id, jobs, "", on_goals, link), "warnings": warnings}

    def resume(
        self,
        run: str = "",
        *,
        on_goals: OnGoals | None = None,
        jobs: int | None = None,
        edited: Literal["", "old", "new"] = "",
        on: str | None = None,
    ) -> Result:
        """Go on exactly where a run stopped; without an id, with the newest that is not finished."""
        state = self.show(run)
        if state["status"] == "done":
            return _result(state, None)
        with self._cluster(on) as link:
            return self._to_the_end(state["id"], jobs, edited, on_goals, link)

    def abandon(self, run: str = "", *, reason: str) -> RunState:
        """Give a run up for good: what it asked people is withdrawn, and its plans can be run anew."""
        id = self.show(run)["id"]
        return abandon(self._writer, id, why=reason, actor=self._actor)["state"]

    def show(self, run: str = "") -> RunState:
        """What is known of a run, by its id or a unique beginning of it."""
        return lookup.find_run(self._workspace, run)

    def _cluster(self, on: str | None) -> AbstractContextManager[Link | None]:
        return cluster(self._workspace, on, Certificates())

    def _to_the_end(
        self,
        id: str,
        jobs: int | None,
        edited: str,
        on_goals: OnGoals | None,
        link: Link | None,
    ) -> Result:
        outcome = run_to_end(
            self._writer,
            id,
            actor=self._actor,
            link=link,
            jobs=jobs,
            edited=edited,
            on_goals=on_goals,
        )
        return _result(outcome.state, outcome.halted)


def _result(state: RunState, halted: Halted | None) -> Result:
    return {
        "run": state["id"],
        "ended": "paused" if halted else "done",
        "reason": halted.reason if halted else "",
        "text": halted.text if halted else "",
        "waypoint": halted.waypoint if halted else "",
        "gates": [state["plans"][id]["gates"][key]["gate"] for id, key in waiting_gates(state)],
        **lookup.count(state),
        "warnings": [],
    }
