"""What a run has spent: every session that a client held in its folders since it began, together.

A run is no session. It has no context of its own, unless an agent's session runs it; what its tasks'
sessions cost is the run's cost.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from holdfast.budgets.measure import gather
from holdfast.budgets.rules.thresholds import from_millionths, millionths
from holdfast.clients.claude import usage as claude
from holdfast.clients.table import NAMES, own_id, part
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.session.spending import changed, measured

if TYPE_CHECKING:
    from holdfast.budgets.measure import Gathered
    from holdfast.budgets.rules.ledger import BudgetState, Values
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.spending import Spending

# What the clients wrote is looked at again after so long at the earliest.
LOOK_SECONDS = 1.0


class Spent:
    """The sessions of a run, and what they cost."""

    def __init__(self, workspace: Workspace, run: str, begun_at: str, folder: str) -> None:
        self._workspace = workspace
        self._run = run
        self._since = clock.parse(begun_at)
        self._begun_at = begun_at
        self._folders = {folder}
        self._sessions: dict[str, Spending] = {}
        self._looked = -LOOK_SECONDS

    def works_in(self, folder: str) -> None:
        """A folder of the run, whose sessions belong to it."""
        self._folders.add(folder)

    def measure(self, state: BudgetState) -> Gathered:
        """What a check of the run looks at. In an agent's session, that session's numbers as well."""
        own = own_id()
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._look(own)
            self._looked = time.monotonic()
        context, measured_errors, errors = None, 0, state["added"]["errors"]
        if own:
            known = gather(self._workspace, state, {}, session=own, now=clock.now())
            context, measured_errors = known["values"]["context"], known["measured_errors"]
            errors = int(known["values"]["errors"] or 0)
        cost, note = self._cost(state)
        values: Values = {"cost": cost, "context": context, "variance": None, "errors": errors}
        return {
            "values": values,
            "notes": {"cost": note} if note else {},
            "recent_errors": state["added"]["recent_errors"],
            "session": own or f"run-{self._run}",
            "started_at": self._begun_at,
            "measured_errors": measured_errors,
            "reported": [],
        }

    def _look(self, own: str) -> None:
        # A clock that was set back writes times before the beginning; those sessions count, too.
        self._since = min(self._since, clock.now())
        found = {own} if own else set()
        for folder in self._folders:
            found.update(claude.since(folder, self._since))
            for client in NAMES[1:]:
                sources = part(client, "usage").newest(folder)
                if sources and changed(sources[0]) >= self._since:
                    found.add(sources[0]["session"])
        for session in found | set(self._sessions):
            try:
                self._sessions[session] = measured(
                    self._workspace, session=session, now=clock.now()
                )
            except (HoldfastError, OSError):
                continue  # what was known of it stays

    def _cost(self, state: BudgetState) -> tuple[float | None, str]:
        """Unknown is never nothing: with a part unknown, the rest is what it costs at least."""
        added = state["added"]["cost"]
        total = sum(millionths(one["cost_at_least"]) for one in self._sessions.values())
        unknown = [one["why"] for one in self._sessions.values() if one["cost"] is None]
        total += added or 0
        if unknown:
            return (from_millionths(total) if total else None), f"at least: {unknown[0]}"
        if not self._sessions and added is None:
            return None, "unknown: no client's files were found"
        return from_millionths(total), ""
