"""Thresholds and triggers after every task: the workspace's budget, told where the run stands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.budgets.check import Budget
from holdfast.budgets.limits import PROJECT_FILE, user_file_path
from holdfast.kernel import clock, latch
from holdfast.kernel.views.files import identity_of
from holdfast.plans.cost import Spent
from holdfast.plans.rules.ready import position_of

if TYPE_CHECKING:
    from holdfast.budgets.check import BudgetReport
    from holdfast.budgets.rules.thresholds import Limits
    from holdfast.kernel.workspace import Workspace
    from holdfast.plans.rules.run_model import RunState

# Within so long of a check, only what the journal and the limits' files say can be new.
FRESH_MILLISECONDS = 1000
# A check that finds everything as it was is recorded again after so long; any other one at once.
SAME_MILLISECONDS = 5000


class RunBudget:
    """The budget as a run sees it."""

    def __init__(
        self, workspace: Workspace, state: RunState, limits: Limits, *, actor: str
    ) -> None:
        self.budget = Budget(workspace, actor=actor)
        self.spent = Spent(workspace, state["id"], state["begun_at"], state["root"])
        self.limits = limits
        self.last: BudgetReport | None = None
        self._checked: Any = None
        self._checked_at = 0
        self._recorded: Any = None
        self._recorded_at = 0

    def check(self, state: RunState) -> BudgetReport:
        """Whether the run may go on. What it finds is recorded, with the place of the run in a
        waypoint, unless it is what was found before."""
        now = clock.now()
        if (
            self.last is not None
            and 0 <= now - self._checked_at < FRESH_MILLISECONDS
            and self._depends_on() == self._checked
        ):
            return self.last
        place = position_of(state)
        seen = self._check(place, now, dry_run=True)
        same = self._recorded is not None and _found(seen) == self._recorded
        if not same or not 0 <= now - self._recorded_at < SAME_MILLISECONDS:
            seen = self._check(place, now, dry_run=False)
            self._recorded, self._recorded_at = _found(seen), now
        self.last, self._checked, self._checked_at = seen, self._depends_on(), now
        return seen

    def _depends_on(self) -> Any:
        """What a check is made of, besides what clients write: the budget's records, the files with
        limits, and whether a stop holds."""
        workspace = self.budget.workspace
        head = workspace.journal.head(self.budget.stream)
        files = [
            os.path.join(workspace.root, PROJECT_FILE),
            user_file_path(),
        ]
        held = [identity_of(path) for path in (*files, *latch.places(workspace))]
        return (head["version"] if head else 0, held)

    def _check(self, place: Any, now: int, *, dry_run: bool) -> BudgetReport:
        return self.budget.check(
            None,
            self.limits,
            place=place,
            measure=self.spent.measure,
            now=now,
            dry_run=dry_run,
            tells=False,
        )

    def add_error(self, task: str, why: str) -> None:
        command = {"do": "add", "error": f"{task}: {why}", "step": task}
        self.budget.execute(command, now=clock.now())

    @property
    def cost(self) -> float | None:
        return self.last["values"]["cost"] if self.last else None

    @property
    def alerts(self) -> list[str]:
        """The types whose alerts wait for a person, by the last check."""
        handled = self.last["handled"] if self.last else []
        return [one["type"] for one in handled if one["how"] == "waiting"]


def _found(report: BudgetReport) -> Any:
    """What is the same when nothing has happened. Whatever a level asks for is always recorded."""
    return None if report["handled"] else (report["values"], report["levels"], report["limits"])
