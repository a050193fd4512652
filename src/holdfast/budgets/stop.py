"""The stop of a budget: the latch that holds without the database, and the reserve beside it.

It is set before the stop is recorded, so that a crash in between leaves a stop, and never a record
of one that holds nobody.
"""

from __future__ import annotations

from holdfast.budgets import last_turn
from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.boxes import amount, name_of
from holdfast.budgets.rules.waypoint import ALERT_STOP
from holdfast.estop.stop import BUDGET
from holdfast.kernel import latch
from holdfast.kernel.state import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.budgets.rules.ledger import BudgetState, Halt, Pending, Ruling
    from holdfast.kernel.workspace import Workspace


def engage(workspace: Workspace, halt: Halt, *, now: int) -> bool:
    """Set the latch. False when one holds already: an emergency stop is not written over."""
    if latch.read(workspace) is not None:
        return False
    latch.engage(workspace, describe(halt), by=BUDGET, now=now)
    if halt["last_turn"]:
        last_turn.grant(workspace, now=now)
    return True


def describe(halt: Halt) -> str:
    reached = f"{name_of(halt['type'])} at {amount(halt['type'], halt['value'])}"
    if halt["reason"] == ALERT_STOP:
        return f"A person said stop: {reached}"
    return f"{reached}, the limit is {amount(halt['type'], halt['threshold'])}"


def describe_alerts(state: BudgetState, ruling: Ruling) -> dict[str, str]:
    """The alerts that wait for a person after a check: each type, and how far it had come."""
    found = {
        type: (one["value"], one["threshold"])
        for type, one in state["pending"].items()
        if state["values"][type] is None  # type: ignore[literal-required]
    }
    for one in ruling["handled"]:
        if one["how"] == "waiting":
            found[one["type"]] = (one["value"], one["threshold"])
    return {type: _reached(type, *numbers) for type, numbers in found.items()}


def describe_pending(type: str, pending: Pending) -> str:
    return _reached(type, pending["value"], pending["threshold"])


def _reached(type: str, value: float, threshold: float) -> str:
    return f"{name_of(type)} at {amount(type, value)}, the alert is at {amount(type, threshold)}"


def is_held(workspace: Workspace) -> bool:
    """Whether the latch is a budget's."""
    held = latch.read(workspace)
    return held is not None and held["by"] == BUDGET


def let_go(workspace: Workspace) -> bool:
    """Release a budget's latch, and nobody else's."""
    last_turn.end(workspace)
    return is_held(workspace) and latch.release(workspace)


def list_waiting(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Alerts that wait, and a stop whose latch was removed: what it is, and the command for it."""
    state: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    halt = state["stopped"]
    if halt is not None and latch.read(workspace) is None:
        reached = f"{name_of(halt['type'])} at {amount(halt['type'], halt['value'])}"
        yield f"A budget has stopped: {reached}", rules.LIFT
    for type, pending in state["pending"].items():
        reached = f"{name_of(type)} at {amount(type, pending['value'])}"
        yield f"An alert waits: {reached}", f"holdfast guard ack {type}"
