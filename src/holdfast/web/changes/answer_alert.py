"""A person acknowledges a budget's alert, or stops the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.budgets.acknowledge import acknowledge_at_page
from holdfast.budgets.check import Budget
from holdfast.budgets.rules.boxes import amount
from holdfast.budgets.rules.thresholds import STOP, TYPES, UNITS
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace


def apply(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    answer, type = words.get("answer", ""), words["type"]
    if answer not in ("ack", "stop"):
        raise Usage("An alert is answered with ack or stop.")
    budget = Budget(workspace, actor=person["name"])
    until = _ceiling(type, words.get("until", "").strip()) if answer == "ack" else None
    if until is not None and until > (stop := budget.state()["limits"][STOP][type]):
        raise Usage(
            f"The stop is at {amount(type, stop)}: before {amount(type, until)} the work is stopped.",
            hint="Name something below it; or nothing, to be asked no more before the stop.",
        )
    acknowledge_at_page(budget, type, goes_on=answer == "ack", until=until, person=person)
    return "/board"


def _ceiling(type: str, text: str) -> float | None:
    if not text or type not in TYPES:
        return None
    try:
        return UNITS[type](text)
    except ValueError as problem:
        raise Usage(f"The ceiling {problem}.") from None
