"""What a budget wants from a person, for `holdfast status`."""

from __future__ import annotations

from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.boxes import amount, name_of
from holdfast.kernel import latch
from holdfast.kernel.state import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.kernel.workspace import Workspace


def waiting(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Alerts that wait, and a stop whose latch somebody took away: what, and the command for it."""
    state: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    halt = state["stopped"]
    if halt is not None and latch.read(workspace) is None:
        reached = f"{name_of(halt['type'])} at {amount(halt['type'], halt['value'])}"
        yield f"A budget has stopped: {reached}", rules.LIFT
    for type, pending in state["pending"].items():
        reached = f"{name_of(type)} at {amount(type, pending['value'])}"
        yield f"An alert waits: {reached}", f"holdfast guard ack {type}"
