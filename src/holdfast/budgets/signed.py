"""A budget as readers see it where people sign: an acknowledgment and a lifted stop count only with the
signature that the setting `gate.signers` asks for."""

from __future__ import annotations

from holdfast.signatures import counts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.budgets.rules.ledger import Acknowledgment, BudgetState, Halt, Pending
    from holdfast.kernel.workspace import Workspace


def purpose_of_answer(type: str) -> str:
    return f"answer the alert of {type}"


def purpose_of_reset(halt: Halt | None) -> str:
    return "lift the budget's stop" if halt else "change the budget's limits"


def subject_of_answer(type: str, alert: Pending | None) -> dict[str, Any]:
    """Which alert a signature is about."""
    return {"type": type, "alert": alert}


def subject_of_reset(before: dict[str, Any] | BudgetState) -> dict[str, Any]:
    """What a person saw when they reset: the stop, and when it was last reset."""
    return {"stopped": before["stopped"], "last_reset": before["last_reset"]}


def count(workspace: Workspace, state: BudgetState) -> tuple[BudgetState, list[str]]:
    """The state with what counts, and the types whose acknowledgment does not."""
    uncounted = [
        type
        for type, known in state["acknowledgments"].items()
        if known["by"] is not None and not _is_signed(workspace, type, known)
    ]
    if uncounted:
        kept = {
            one: known for one, known in state["acknowledgments"].items() if one not in uncounted
        }
        alerts = {one: state["acknowledgments"][one].get("alert") for one in uncounted}
        pending = {**state["pending"], **{one: alert for one, alert in alerts.items() if alert}}
        state = {**state, "acknowledgments": kept, "pending": pending}
    lift = state.get("lift")
    if lift is None:
        return state, uncounted
    before = lift["before"]
    said = {"given": state["given"]}
    purpose, subject = purpose_of_reset(before["stopped"]), subject_of_reset(before)
    if counts(workspace, lift["by"], purpose, subject, said):
        return state, uncounted
    for name in ("stopped", "given", "lowered"):
        state = {**state, name: before[name]}  # type: ignore[misc]
    return state, uncounted


def _is_signed(workspace: Workspace, type: str, known: Acknowledgment) -> bool:
    subject = subject_of_answer(type, known.get("alert"))
    said = {"answer": "ack", "until": known["until"]}
    return counts(workspace, known["by"], purpose_of_answer(type), subject, said)
