"""What of a budget's records counts: where people sign, only what one of them signed."""

from __future__ import annotations

from typing import Any

from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.ledger import Acknowledgment, BudgetState, Halt, Pending
from holdfast.budgets.rules.thresholds import Limits, tighten
from holdfast.kernel.state import load
from holdfast.kernel.trust import signers_of
from holdfast.kernel.workspace import Workspace


def load_counted(workspace: Workspace) -> tuple[BudgetState, list[str], bool]:
    """Return the state as far as it counts, the types whose acknowledgment does not, and whether the records
    say that a stop was lifted by one who did not sign."""
    if not workspace.exists():
        return rules.initial(rules.STREAM), [], False
    recorded: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    if not signers_of(workspace):
        return recorded, [], False
    state, uncounted = count_signed(workspace, recorded)
    return state, uncounted, state["stopped"] != recorded["stopped"]


def purpose_of_answer(type: str) -> str:
    return f"answer the alert of {type}"


def purpose_of_reset(halt: Halt | None) -> str:
    return "lift the budget's stop" if halt else "change the budget's limits"


# What a person does who confirms their own limits, in a signature.
RAISE_OWN = "raise your own limits"


def subject_of_answer(type: str, alert: Pending | None) -> dict[str, Any]:
    """Which alert a signature is about."""
    return {"type": type, "alert": alert}


def subject_of_reset(before: dict[str, Any] | BudgetState) -> dict[str, Any]:
    """What a person saw when they reset: the stop, and when it was last reset."""
    return {"stopped": before["stopped"], "last_reset": before["last_reset"]}


def count_signed(workspace: Workspace, state: BudgetState) -> tuple[BudgetState, list[str]]:
    """The state with what counts, and the types whose acknowledgment does not. Where people sign, an
    acknowledgment and a lifted stop count only with the signature that `gate.signers` asks for."""
    from holdfast.kernel.signatures import counts

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
    state = {**state, "own": _own_signed(workspace, state)}
    lift = state.get("lift")
    if lift is None:
        return state, uncounted
    before = lift["before"]
    purpose, subject = purpose_of_reset(before["stopped"]), subject_of_reset(before)
    if counts(workspace, lift["by"], purpose, subject, {"given": state["given"]}):
        return state, uncounted
    for name in ("stopped", "given", "lowered"):
        state = {**state, name: before[name]}  # type: ignore[misc]
    return state, uncounted


def _own_signed(workspace: Workspace, state: BudgetState) -> Limits:
    """The person's own limits without what no signer confirmed."""
    from holdfast.kernel.signatures import counts

    said, own = state.get("confirmed", []), state.get("own", {})
    signed = [
        one
        for one in said
        if counts(workspace, one["by"], RAISE_OWN, {"before": one["before"]}, {"own": one["own"]})
    ]
    if len(signed) == len(said):
        return own
    return tighten(signed[-1]["own"] if signed else said[0]["before"], own)


def _is_signed(workspace: Workspace, type: str, known: Acknowledgment) -> bool:
    from holdfast.kernel.signatures import counts

    subject = subject_of_answer(type, known.get("alert"))
    said = {"answer": "ack", "until": known["until"]}
    return counts(workspace, known["by"], purpose_of_answer(type), subject, said)
