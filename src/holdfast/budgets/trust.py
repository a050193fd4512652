"""What a budget wants a person's trust for: acknowledgments that only a file states, and limits of their own."""

from __future__ import annotations

from functools import partial

from holdfast.budgets.acknowledge import confirm, confirm_own, describe_stated, find_stated
from holdfast.budgets.check import Budget
from holdfast.budgets.limits import describe_raised
from holdfast.budgets.rules.documents import ACKNOWLEDGMENTS
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace
from holdfast.parts import Trustable

OWN_LIMITS = "limits of your own"


def find(workspace: Workspace) -> list[Trustable]:
    """Return what does not count here yet."""
    try:
        if workspace.url and not workspace.is_on_server:
            return []  # to look does not connect; `guard ack` confirms there
        budget = Budget(workspace, actor="")
        stated, raised = find_stated(budget), describe_raised(budget.state().get("own", {}))
    except HoldfastError:
        return []  # a journal that is not trusted yet, or is away: that comes first
    found = [
        Trustable(
            name=ACKNOWLEDGMENTS,
            value=describe_stated(type, one),
            may="let work go on at this alert, as if you had acknowledged it here",
            confirm=partial(_acknowledge, workspace, type),
        )
        for type, one in stated.items()
    ]
    if raised:
        may = "let agents go further here than they may now"
        let = partial(_confirm_own, workspace)
        found.append(Trustable(name=OWN_LIMITS, value=raised, may=may, confirm=let))
    return found


def _acknowledge(workspace: Workspace, type: str, person: Person) -> None:
    confirm(Budget(workspace, actor=person["name"]), type, person)


def _confirm_own(workspace: Workspace, person: Person) -> None:
    confirm_own(Budget(workspace, actor=person["name"]), person)
