"""Budgets for programs: `workspace.budgets.check(cost=12.5)["verdict"]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.budgets import acknowledge, operations
from holdfast.budgets.acknowledge import Answered, Reset
from holdfast.budgets.check import Budget, BudgetReport
from holdfast.budgets.limits import PROJECT_FILE, LimitsInForce, from_flags
from holdfast.budgets.rules.ledger import BudgetState
from holdfast.kernel import clock
from holdfast.kernel.git_exclude import hide_new
from holdfast.kernel.workspace import Workspace

FOLDER = PROJECT_FILE.partition("/")[0]


class Budgets:
    """The budget of a workspace. Its limits warn, ask a person, and stop."""

    def __init__(self, workspace: Workspace, *, actor: str) -> None:
        self._budget = Budget(workspace, actor=actor)

    @property
    def state(self) -> BudgetState:
        """What the budget has on record. Money is in dollars."""
        state = self._budget.state()
        reported = operations.reported_by(state)
        added: Any = {**state["added"], "cost": reported["cost"]}
        return {**state, "added": added, "steps": reported["steps"]}

    def check(
        self,
        *,
        cost: float | None = None,
        context: float | None = None,
        estimated: float | None = None,
        actual: float | None = None,
        errors: float | None = None,
        session: str = "",
        limits: Sequence[str] = (),
        dry_run: bool = False,
    ) -> BudgetReport:
        """Whether work may go on: `verdict` is go, wait or stop. Values that are not given are
        measured; cost is in dollars, context in percent. `limits` are lower ones, such as
        "stop.cost=20"."""
        values: Any = {"cost": cost, "context": context, "estimated": estimated}
        values |= {"actual": actual, "errors": errors}
        if not dry_run:
            hide_new(self._budget.workspace, [FOLDER])
        lower = from_flags(limits)
        request = operations.CheckRequest(
            values=values, limits=lower, session=session, dry_run=dry_run
        )
        return operations.check(self._budget, request)

    def add(
        self,
        *,
        cost: float | None = None,
        tokens: int | None = None,
        error: str | None = None,
        step: str | None = None,
    ) -> operations.Reported:
        """Report what this program spent; the sum of all reports."""
        hide_new(self._budget.workspace, [FOLDER])
        request = operations.AddRequest(cost=cost, tokens=tokens, error=error, step=step)
        return operations.add(self._budget, request)["reported"]

    def report(
        self, *, session: str = "", agent: str = "", epic: str = ""
    ) -> operations.SpendingReport:
        """What a session or an agent spent, by step, and how certain that is."""
        request = operations.ReportRequest(session=session, agent=agent, epic=epic)
        return operations.report(self._budget, request)

    def limits(self) -> LimitsInForce:
        """The limits in force, with the source and the action of each."""
        return self._budget.in_force().describe()

    def acknowledge(self, type: str, *, until: float | None = None) -> Answered:
        """Ask the person at this terminal about an alert that waits."""
        return acknowledge.acknowledge(self._budget, type, until=until, now=clock.now())

    def reset(self, limits: Sequence[str] = ()) -> Reset:
        """Clear the acknowledgments. After a stop, ask the person at this terminal to lift it."""
        return acknowledge.reset(self._budget, from_flags(limits), now=clock.now())
