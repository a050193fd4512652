"""What agents and programs do with a budget: check it, report what they spent, and read the account.

What only a person may do is in `acknowledge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast import registry
from holdfast.budgets.check import Budget, BudgetReport
from holdfast.budgets.limits import LimitsInForce, describe_raised, is_set
from holdfast.budgets.measure import Given
from holdfast.budgets.rules import thresholds
from holdfast.budgets.rules.ledger import Acknowledgment, BudgetState, Halt, Pending
from holdfast.budgets.rules.thresholds import Limits
from holdfast.clients.table import titles
from holdfast.kernel import clock
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.money import from_millionths
from holdfast.kernel.text import quote
from holdfast.session.sessions import check_id
from holdfast.usage import spending
from holdfast.usage.quotas import list_quotas

if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome
    from holdfast.usage.quotas import ClientQuota
    from holdfast.usage.spending import Account, Spending


PARTS = ("steps", "subagents", "elsewhere")


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """Values that the caller knows, and lower limits for this check. The rest is measured."""

    values: Given | None = None
    limits: Limits = field(default_factory=dict)
    session: str = ""
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class AddRequest:
    """What a program without a transcript spent: dollars, tokens, or an error; and in which step."""

    cost: float | None = None
    tokens: int | None = None
    error: str | None = None
    step: str | None = None


class Reported(TypedDict):
    """What programs reported so far, in dollars, by step and together."""

    cost: float | None
    tokens: int
    errors: int
    steps: dict[str, Any]


class AddResult(TypedDict):
    """What was added, the sum of all reports, and what became of the record."""

    added: dict[str, Any]
    reported: Reported
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """Whose account: a session's, or that of an agent with all its lives. Without either, the session
    that this runs in, or the newest of the worktree. `status_line` is what Claude Code gives its status
    line, and is noted first."""

    session: str = ""
    agent: str = ""
    epic: str = ""
    folder: str = ""
    status_line: Mapping[str, Any] | None = None


class SpendingReport(TypedDict):
    """What was spent. One unknown part makes `cost` None; `cost_at_least` is the rest."""

    agent: str
    accounts: list[Account]
    reported: Reported | None
    cost: float | None
    cost_at_least: float
    sure: str


def check(budget: Budget, request: CheckRequest) -> BudgetReport:
    """Whether work may go on: `go`, `wait` for a person, or `stop`."""
    given: dict[str, Any] = {**(request.values or {})}
    errors = given.get("errors")
    if errors is not None and thresholds.is_number(errors) and errors != int(errors):
        raise Usage(f"errors must be a whole number such as 3, not {errors!r:.40}.")
    # 30 and 30.0 are two texts in a file; a value is the same from every face.
    values: Any = {
        name: float(value) if thresholds.is_amount(value) else value
        for name, value in given.items()
        if value is not None
    }
    session, now = check_id(request.session), _now(budget)
    return budget.check(values, request.limits, session=session, now=now, dry_run=request.dry_run)


def add(budget: Budget, request: AddRequest) -> AddResult:
    """Record what a program spent."""
    given = {"cost": request.cost, "tokens": request.tokens, "error": request.error}
    added: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name in ("cost", "tokens"):
        if name in added and not thresholds.is_amount(added[name]):
            raise Usage(f"{name} must be a finite number from 0 on, not {added[name]!r:.40}.")
    if "error" in added and not added["error"].strip():
        raise Usage("error needs a text.", hint="Leave it out when nothing went wrong.")
    if "cost" in added:
        added["cost"] = float(added["cost"])
    if not added:
        raise Usage("Nothing was spent in that.", hint="Give a cost, tokens or an error.")
    if request.step is not None:
        added["step"] = request.step
    outcome = budget.execute({"do": "add", **added}, now=_now(budget))
    return {"added": added, "reported": reported_by(budget.state()), "outcome": outcome}


def report(budget: Budget, request: ReportRequest) -> SpendingReport:
    """Read what a session or an agent spent, by step, and how certain that is."""
    if request.agent and (request.session or request.status_line is not None):
        raise Usage("Name a session or an agent, not both.")
    workspace, session = budget.workspace, request.session
    if request.status_line is not None:
        session = spending.note_status_line(workspace, request.status_line, now=_now(budget))
    if request.agent:
        accounts = _accounts_of_agent(budget, request)
    else:
        accounts = [
            spending.account(
                workspace,
                session=session,
                marks=lambda spent: spending.steps_of_session(workspace, spent["session"]),
                now=_now(budget),
            )
        ]
    if session and not accounts[0]["spent"]["client"]:
        raise NotFound(
            f"No client's files of session {session} were found.",
            hint=f"{titles('and')} keep theirs in your home folder.",
        )
    reported = None if request.agent else reported_by(budget.state())
    parts = [each["spent"] for each in accounts]
    total = _sum(parts, reported["cost"] if reported else None)
    return {"agent": request.agent, "accounts": accounts, "reported": reported, **total}  # type: ignore[typeddict-item]


class LimitsReport(LimitsInForce):
    """The limits in force with their sources and actions, and what the budget has on record. `problem`
    says what is wrong with the file that sets them, `raised` which numbers of the person's own file wait for
    their word. `is_set`: hooks hold agents to them. `lowered` are those
    of a program's flags; the waypoint's others are a person's."""

    is_set: bool
    problem: str
    raised: str
    lowered: Limits
    acknowledgments: dict[str, Acknowledgment]
    last_reset: str | None
    pending: dict[str, Pending]
    stopped: Halt | None
    quotas: list[ClientQuota]


def show_limits(budget: Budget) -> LimitsReport:
    """Read the limits in force, also while the file that sets them is wrong."""
    state = budget.state()
    held, problem = budget.in_force_anyway(state)
    raised = "" if problem else describe_raised(state.get("own", {}))
    names = ("lowered", "acknowledgments", "last_reset", "pending", "stopped")
    return {
        "is_set": is_set(budget.workspace, state),
        "problem": problem,
        "raised": raised,
        **held.describe(),
        **{name: state[name] for name in names},  # type: ignore[literal-required, typeddict-item]
        "quotas": list_quotas(budget.workspace, _now(budget)),
    }


def reported_by(state: BudgetState) -> Reported:
    """What programs reported, in dollars."""
    added = state["added"]
    return {
        "cost": _dollars(added["cost"]),
        "tokens": added["tokens"],
        "errors": added["errors"],
        "steps": {
            name: {**step, "cost": _dollars(step["cost"])} for name, step in state["steps"].items()
        },
    }


def _now(budget: Budget) -> int:
    return clock.now() if budget.now is None else budget.now


def _accounts_of_agent(budget: Budget, request: ReportRequest) -> list[Account]:
    lives: dict[str, list[tuple[str, str]]] = {}
    where = {"epic": request.epic, "folder": request.folder}
    for list_steps in registry.offers("steps_of_agent"):
        lives |= list_steps(budget.workspace, request.agent, **where)
    if not lives:
        raise NotFound(
            f"No transcript of {request.agent} is known.",
            hint=f"holdfast agent beat {quote(request.agent)} --transcript PATH",
            kind="no_transcript",
        )
    now = _now(budget)
    return [
        spending.account(budget.workspace, transcript=path, marks=lambda _, one=marks: one, now=now)  # type: ignore[misc]
        for path, marks in lives.items()
    ]


def _dollars(cost: int | None) -> float | None:
    return None if cost is None else from_millionths(cost)


def _sum(spent: list[Spending], reported: float | None) -> dict[str, Any]:
    """Clients and programs together."""
    # A session that we know to be in, and whose files are not found, is an unknown part as well.
    parts = [part for part in spent if part["client"] or part["session"]]
    at_least = round(sum(part["cost_at_least"] for part in parts) + (reported or 0.0), 9)
    known = bool(parts or reported is not None) and all(part["cost"] is not None for part in parts)
    sure = "unknown"
    if known:
        sure = "exact" if all(part["sure"] == "exact" for part in parts) else "estimated"
    return {"cost": at_least if known else None, "cost_at_least": at_least, "sure": sure}
