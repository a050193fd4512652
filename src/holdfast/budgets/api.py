"""Budgets for programs: `workspace.budgets.check(cost=12.5)["verdict"]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.budgets import acknowledge, limits, operations
from holdfast.budgets.check import Budget
from holdfast.budgets.operations import AddRequest, CheckRequest, ReportRequest
from holdfast.kernel import clock

if TYPE_CHECKING:
    from holdfast.budgets.acknowledge import Answered, Reset
    from holdfast.budgets.check import BudgetReport
    from holdfast.budgets.limits import InForce
    from holdfast.budgets.measure import Given
    from holdfast.budgets.operations import Reported, SpendingReport
    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.kernel.workspace import Workspace


class Budgets:
    """The budget of a workspace. Its limits warn, ask a person, and stop."""

    def __init__(self, workspace: Workspace, *, actor: str) -> None:
        self._budget = Budget(workspace, actor=actor)

    @property
    def state(self) -> BudgetState:
        """What the budget has on record."""
        return self._budget.state()

    def check(
        self,
        *,
        session: str = "",
        limits: Sequence[str] = (),
        dry_run: bool = False,
        **values: float,
    ) -> BudgetReport:
        """Whether work may go on: `verdict` is go, wait or stop. Values that are not given (cost,
        context, estimated, actual, errors) are measured. `limits` are lower ones, such as
        "stop.cost=20"."""
        given: Given = {**values}  # type: ignore[typeddict-item]
        request = CheckRequest(values=given, limits=_read(limits), session=session, dry_run=dry_run)
        return operations.check(self._budget, request)

    def add(
        self,
        *,
        cost: float | None = None,
        tokens: int | None = None,
        error: str | None = None,
        step: str | None = None,
    ) -> Reported:
        """Report what this program spent; the sum of all reports."""
        request = AddRequest(cost=cost, tokens=tokens, error=error, step=step)
        return operations.add(self._budget, request)["reported"]

    def report(self, *, session: str = "", agent: str = "", epic: str = "") -> SpendingReport:
        """What a session or an agent spent, by step, and how certain that is."""
        request = ReportRequest(session=session, agent=agent, epic=epic)
        return operations.report(self._budget, request)

    def limits(self) -> InForce:
        """The limits in force, with the source of each."""
        return self._budget.in_force()

    def acknowledge(self, type: str, *, until: float | None = None) -> Answered:
        """Ask the person at this terminal about an alert that waits."""
        return acknowledge.acknowledge(self._budget, type, until=until, now=clock.now())

    def reset(self, limits: Sequence[str] = ()) -> Reset:
        """Clear the acknowledgments. After a stop, ask the person at this terminal to lift it."""
        return acknowledge.reset(self._budget, _read(limits), now=clock.now())


_read = limits.from_flags
