"""The budget of a server, brought to this machine: its stop and the alerts that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.budgets import alerts, stop
from holdfast.estop.stop import BUDGET
from holdfast.kernel import clock, latch

if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace


def follow(workspace: Workspace, state: BudgetState, _server: Journal) -> None:
    """Set or lift the budget's stop and settle its alerts as the server's stream says."""
    halt = state["stopped"]
    if halt is not None:
        # Its last turn was given where it was reached.
        stop.engage(workspace, {**halt, "last_turn": False}, now=clock.now())
        return
    held = latch.read(workspace)
    if held is not None and held["by"] == BUDGET:
        stop.let_go(workspace)
    for type in alerts.types(workspace) - state["pending"].keys():
        alerts.settle(workspace, type)
