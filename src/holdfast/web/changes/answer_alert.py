"""A person acknowledges a budget's alert, or stops the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from holdfast.budgets.acknowledge import acknowledge_at_page
from holdfast.budgets.check import Budget
from holdfast.budgets.rules.thresholds import STOP, UNITS
from holdfast.kernel.errors import Usage
from holdfast.web.pages.board import LONGEST_TYPED, problem_of

if TYPE_CHECKING:
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace


def apply(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    answer, type = words.get("answer", ""), words["type"]
    if answer not in ("ack", "stop"):
        raise Usage("An alert is answered with ack or stop.")
    budget = Budget(workspace, actor=person["name"])
    state = budget.state()
    pending = state["pending"].get(type)
    typed = words.get("until", "").strip() if answer == "ack" and pending else ""
    if pending and typed and problem_of(type, typed, pending["value"], state["limits"][STOP][type]):
        # The board says what is wrong with it, in the place where it was typed.
        place = f"{words['workspace']}-{type}"
        return f"/board?{urlencode({'alert': place, 'until': typed[:LONGEST_TYPED]})}#alert-{place}"
    until = UNITS[type](typed) if typed else None
    acknowledge_at_page(budget, type, goes_on=answer == "ack", until=until, person=person)
    return "/board"
