"""The budget of a run: checked after every task, with the place of the run and what all sessions in its
folders have spent."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from holdfast.budgets.check import Budget, BudgetReport
from holdfast.budgets.measure import Gathered, gather
from holdfast.budgets.rules.ledger import BudgetState, Values
from holdfast.budgets.rules.thresholds import QUANTITIES, Limits
from holdfast.clients.discovery import sessions_since
from holdfast.clients.table import own_id
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.money import from_millionths, millionths
from holdfast.plans.rules.ready import position_of
from holdfast.plans.runs import RunStream
from holdfast.usage.spending import measure_session, work_done

if TYPE_CHECKING:
    from holdfast.usage.spending import Spending, WorkDone


# What the clients wrote is read again after this at the earliest.
LOOK_SECONDS = 1.0
# A check that finds nothing new is recorded again after this; any other one at once.
SAME_MILLISECONDS = 5000


class RunSpending:
    """The sessions of a run, and what they cost."""

    def __init__(self, stream: RunStream) -> None:
        self._workspace = stream.writer.workspace
        self._run = stream.state["id"]
        self._begun_at = stream.state["begun_at"]
        self._since = clock.parse(self._begun_at)
        self._folders = {stream.state["root"]}
        self._sessions: dict[str, Spending] = {}
        self._work: dict[str, WorkDone] = {}
        self._looked = -LOOK_SECONDS

    def add_folder(self, folder: str) -> None:
        """Count the sessions in this folder, too."""
        self._folders.add(folder)

    def measure(self, state: BudgetState, extra: Collection[str] = ()) -> Gathered:
        """What a check of the run looks at. In an agent's session, it includes that session's numbers.
        `extra` are the additional types that have a limit."""
        own = own_id()
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._look(own, is_work_asked=bool(extra))
            self._looked = time.monotonic()
        context, measured_errors, errors = None, 0, state["added"]["errors"]
        if own:
            known = gather(self._workspace, state, {}, session=own, now=clock.now())
            context, measured_errors = known["values"]["context"], known["measured_errors"]
            errors = int(known["values"]["errors"] or 0)
        cost, note = self._cost(state)
        values: Values = {"cost": cost, "context": context, "variance": None, "errors": errors}
        notes = {"cost": note} if note else {}
        for type in extra:
            value, is_whole = self._sum_work(type)
            values[type] = value
            if not is_whole:
                notes[type] = f"{'unknown' if value is None else 'at least'}: no client tells it"
        return {
            "values": values,
            "notes": notes,
            "recent_errors": state["added"]["recent_errors"],
            "session": own or f"run-{self._run}",
            "started_at": self._begun_at,
            "measured_errors": measured_errors,
            "reported": [],
        }

    def _sum_work(self, type: str) -> tuple[float | None, bool]:
        """What all sessions did together, of a share the largest; and whether all of them report it."""
        told = [one[type] for one in self._work.values()]  # type: ignore[literal-required]
        known = [value for value in told if value is not None]
        if not known:
            return None, False
        return max(known) if QUANTITIES[type].is_share else sum(known), len(known) == len(told)

    def _look(self, own: str, *, is_work_asked: bool) -> None:
        # A clock that was set back writes times before the beginning; those sessions count, too.
        self._since = min(self._since, clock.now())
        found = {own} if own else set()
        for folder in self._folders:
            found.update(sessions_since(folder, self._since))
        for session in found | set(self._sessions):
            try:
                which: Any = {"session": session, "now": clock.now()}
                self._sessions[session] = measure_session(self._workspace, **which)
                if is_work_asked:
                    self._work[session] = work_done(self._workspace, **which)
            except (HoldfastError, OSError):
                continue  # what was known of it stays

    def _cost(self, state: BudgetState) -> tuple[float | None, str]:
        """The cost and a note. If a part is unknown, the rest is what it costs at least."""
        added = state["added"]["cost"]
        total = sum(millionths(one["cost_at_least"]) for one in self._sessions.values())
        unknown = [one["why"] for one in self._sessions.values() if one["cost"] is None]
        total += added or 0
        if unknown:
            return (from_millionths(total) if total else None), f"at least: {unknown[0]}"
        if not self._sessions and added is None:
            return None, "unknown: no client's files were found"
        return from_millionths(total), ""


class RunBudget:
    """The budget as a run sees it."""

    def __init__(self, stream: RunStream, limits: Limits) -> None:
        self._stream = stream
        self.budget = Budget(stream.writer.workspace, actor=stream.actor)
        self.spending = RunSpending(stream)
        self.limits = limits
        self.last: BudgetReport | None = None
        self._recorded: Any = None
        self._recorded_at = 0

    def check(self) -> BudgetReport:
        """Check whether the run may go on. The result is recorded, unless it is the same as before."""
        now = clock.now()
        seen = self._check(now, dry_run=True)
        same = self._recorded is not None and _essence(seen) == self._recorded
        if not same or not 0 <= now - self._recorded_at < SAME_MILLISECONDS:
            seen = self._check(now, dry_run=False)
            self._recorded, self._recorded_at = _essence(seen), now
        self.last = seen
        return seen

    def _check(self, now: int, *, dry_run: bool) -> BudgetReport:
        place, measure = position_of(self._stream.state), self.spending.measure
        return self.budget.check(
            None, self.limits, place=place, measure=measure, now=now, dry_run=dry_run, tells=False
        )

    def add_error(self, task: str, why: str) -> None:
        command = {"do": "add", "error": f"{task}: {why}", "step": task}
        self.budget.execute(command, now=clock.now())

    @property
    def cost(self) -> float | None:
        return self.last["values"]["cost"] if self.last else None

    @property
    def alerts(self) -> list[str]:
        """The types whose alerts wait for a person, at the last check."""
        handled = self.last["handled"] if self.last else []
        return [one["type"] for one in handled if one["how"] == "waiting"]


def _essence(report: BudgetReport) -> Any:
    """What stays the same while nothing happens. None for a report with an action: it is always
    recorded."""
    return None if report["handled"] else (report["values"], report["levels"], report["limits"])
