"""What a check looks at: given values, else what was measured and what programs reported.

An unknown value stays unknown. It never passes as zero: the check says so, and the others hold.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, TypedDict

from holdfast.budgets.rules.ledger import BudgetState, Values
from holdfast.budgets.rules.thresholds import ALL_TYPES, QUANTITIES, TYPES, is_amount, variance_of
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.money import from_millionths, millionths
from holdfast.kernel.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.usage.spending import Spending, WorkDone


class Given(TypedDict, total=False):
    """Values that the caller has: a program, or a test."""

    cost: float
    context: float
    estimated: float
    actual: float
    errors: float


class Gathered(TypedDict):
    """What is known. `notes` say by type why a value is missing, or how sure it is;
    `measured_errors` are the client's alone."""

    values: Values
    notes: dict[str, str]
    recent_errors: list[str]
    session: str
    started_at: str
    measured_errors: int
    reported: list[str]


NAMES = ("cost", "context", "estimated", "actual", "errors")
_KINDS = {"estimated": "cost", "actual": "cost"}


def from_flags(**flags: str | None) -> Given:
    """The values of flags; what is no amount is refused, with the flag's name."""
    given: Given = {}
    for name, text in flags.items():
        if text is None:
            continue
        try:
            given[name] = QUANTITIES[_KINDS.get(name, name)].read(text)  # type: ignore[literal-required]
        except ValueError as problem:
            raise Usage(f"--{name} {problem}.") from None
    return given


def gather(
    workspace: Workspace,
    state: BudgetState,
    given: Given,
    *,
    session: str,
    now: int,
    extra: Collection[str] = (),
) -> Gathered:
    """Everything that a check looks at, in its types' order. `extra` are the types of people's own that
    have a limit."""
    for name, value in given.items():
        if name not in NAMES or not is_amount(value):
            raise Usage(f"{name} must be a finite number from 0 on, not {value!r:.40}.")
    spent = _measure(workspace, session, now)
    session = session or (spent["session"] if spent else "")
    notes: dict[str, str] = {}
    # What is reported counts where it is more than what is measured.
    cost, notes["cost"] = _cost(state, spent)
    cost = _larger(given.get("cost"), cost)
    context = _larger(given.get("context"), spent["context_percent"] if spent else None)
    if "cost" in given:
        notes["cost"] = ""
    notes["context"] = "" if context is not None else "unknown: no client tells it"
    variance, notes["variance"] = _variance(given, cost)
    measured, forgiven = spent["errors"] if spent else 0, state["forgiven"].get(session, 0)
    # A count that is lower than what was put behind has begun anew.
    since = measured - forgiven if measured >= forgiven else measured
    errors = _larger(given.get("errors"), since + state["added"]["errors"]) or 0
    values: Values = {"cost": cost, "context": context, "variance": variance, "errors": int(errors)}
    if extra:
        done = _measure_work(workspace, session, now)
        for type in extra:
            values[type] = done[type] if done else None  # type: ignore[literal-required]
            if values[type] is None:
                notes[type] = "unknown: no client tells it"
    recent = spent["recent_errors"] if spent else []
    return {
        "values": values,
        "notes": {type: notes[type] for type in ALL_TYPES if notes.get(type)},
        "recent_errors": [*recent, *state["added"]["recent_errors"]],
        "session": session,
        "started_at": _time(spent["started_at"]) if spent else "",
        "measured_errors": measured,
        "reported": [type for type in TYPES if type in given]
        + (["variance"] if "estimated" in given else []),
    }


def _larger(reported: float | None, measured: float | None) -> float | None:
    """The larger of the two that are known."""
    known = [value for value in (reported, measured) if value is not None]
    return max(known, default=None)


def _measure(workspace: Workspace, session: str, now: int) -> Spending | None:
    """What the clients wrote down; None where that cannot be read, and the check goes on."""
    from holdfast.usage.spending import measure_session

    try:
        return measure_session(workspace, session=session, now=now)
    except Usage:
        raise
    except (HoldfastError, OSError):
        return None


def _measure_work(workspace: Workspace, session: str, now: int) -> WorkDone | None:
    from holdfast.usage.spending import work_done

    try:
        return work_done(workspace, session=session, now=now)
    except (HoldfastError, OSError):
        return None


def _cost(state: BudgetState, spent: Spending | None) -> tuple[float | None, str]:
    """Measured and reported together. With a part unknown, the rest is what it costs at least."""
    added = state["added"]["cost"]
    if spent is None:
        return _at_least(0.0, added, "what the client used cannot be read")
    if spent["cost"] is None:
        if not spent["sources"] and added is not None:
            return from_millionths(added), ""
        return _at_least(spent["cost_at_least"], added, spent["why"])
    total = from_millionths(millionths(spent["cost"]) + (added or 0))
    return total, "estimated" if spent["sure"] == "estimated" else ""


def _at_least(known: float, added: int | None, why: str) -> tuple[float | None, str]:
    total = millionths(known) + (added or 0)
    if total == 0:
        return None, f"unknown: {why}"
    return from_millionths(total), f"at least: {why}"


def _variance(given: Given, cost: float | None) -> tuple[float | None, str]:
    """Of the cost, unless both numbers are given; AMB-PILOT-09."""
    if "estimated" not in given:
        return None, "" if "actual" not in given else "skipped: no estimate"
    actual = given.get("actual", cost)
    if actual is None:
        return None, "unknown: so is the cost"
    found = variance_of(given["estimated"], actual)
    return found, "" if found is not None else "skipped: the estimate is 0"


def _time(text: str) -> str:
    try:
        return clock.precise(clock.parse(text))
    except ValueError:
        return ""
