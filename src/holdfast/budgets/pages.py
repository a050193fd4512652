"""Budgets: each value among its limits, its history, and what people acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from holdfast.budgets.acknowledge import acknowledge
from holdfast.budgets.check import Budget
from holdfast.budgets.limits import InForce
from holdfast.budgets.operations import reported_by
from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules import thresholds
from holdfast.budgets.rules.boxes import amount, name_of, short_amount
from holdfast.budgets.rules.ledger import BudgetState
from holdfast.budgets.rules.thresholds import ALL_TYPES, STOP, level_of, number_at
from holdfast.clients.table import title_of
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.state import load
from holdfast.kernel.workspace import Workspace
from holdfast.session.rules.session import stream_of
from holdfast.web import figures
from holdfast.web.record_text import NO_RECORDS, read_last, show_records
from holdfast.web.table import Ask, Page, PageChange, PageContext, Pages, Section, link_to
from holdfast.web.workspaces import ServedWorkspace, is_away

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


LONGEST_TYPED = 40
LOOKED_BACK = 600
MOST_LINES, MOST_STEPS, MOST_TOLD, MOST_SESSIONS = 6, 30, 12, 12


def gather(page: PageContext) -> dict[str, Any]:
    before, places = page.number("before"), page.chosen
    return {
        "several": len(page.site) > 1,
        "chosen": page.words["workspace"],
        "workspaces": [
            {**_place(place, before, alone=len(places) == 1), **_spent(place, page)}
            for place in places
        ],
    }


def _place(place: ServedWorkspace, before: int | None, *, alone: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"key": place.key, "name": place.name, "problem": "", "gauges": []}
    try:
        place.look()
        workspace = place.workspace
        budget = Budget(workspace, actor="page")
        state, held = budget.state(), budget.in_force()
        recent = read_last(workspace, rules.STREAM, LOOKED_BACK)
        return {
            **found,
            "checked_at": state["last_check"] or "",
            "gauges": [_gauge(type, state, held, recent) for type in ALL_TYPES if held.has(type)],
            "stopped": _describe_halt(state),
            "pending": state["pending"],
            "acknowledgments": state["acknowledgments"],
            "steps": _steps(state),
            "timeline": show_records(place, rules.STREAM, before, MOST_TOLD)
            if alone
            else NO_RECORDS,
        }
    except (HoldfastError, OSError) as error:
        return {
            **found,
            "away": not isinstance(error, HoldfastError) or is_away(error),
            "problem": str(error),
            "hint": getattr(error, "hint", ""),
        }


def _spent(place: ServedWorkspace, page: PageContext) -> dict[str, Any]:
    """What the sessions of a workspace cost, by day and by session."""
    costs = page.meter.costs(place.root) or []
    known = [(one, one["spent"]["cost"] or one["spent"]["cost_at_least"]) for one in costs]
    known = sorted((pair for pair in known if pair[1]), key=lambda pair: -pair[1])[:MOST_SESSIONS]
    return {
        "days": figures.draw_days([(one["session"], one["messages"]) for one in costs], page.now),
        "sessions": [
            {
                "session": one["session"],
                "client": title_of(one["client"]),
                "request": one["request"],
                "cost": cost,
                "is_part": one["spent"]["cost"] is None,
                "width": round(figures.WIDE * cost / known[0][1]),
                "href": link_to(place.key, stream_of(one["session"])),
            }
            for one, cost in known
        ],
    }


def _gauge(type: str, state: BudgetState, held: InForce, recent: list[Record]) -> dict[str, Any]:
    value, is_old = _known(type, state, recent)
    numbers: dict[float, list[str]] = {}
    for each in thresholds.LEVELS:
        if type in held.limits[each]:
            numbers.setdefault(held.limits[each][type], []).append(each)
    marks = [(names[-1], short_amount(type, at), at) for at, names in numbers.items()]
    level = "" if value is None else level_of(held.limits, type, value) or ""
    return {
        "type": type,
        "name": name_of(type),
        "value": value,
        "is_old": is_old,
        "shown": "unknown" if value is None else amount(type, value),
        "level": level,
        "legend": " · ".join(
            f"{', '.join(names)} {short_amount(type, at)}" for at, names in numbers.items()
        ),
        "gauge": figures.draw_gauge(value, marks),
        "chart": figures.draw_chart(_series(type, recent), marks),
    }


def _describe_halt(state: BudgetState) -> dict[str, Any] | None:
    """Return the stop that holds, with a sentence for people."""
    halt = state["stopped"]
    if halt is None:
        return None
    type, value, limit = halt["type"], halt["value"], halt["threshold"]
    said = f"{name_of(type)} at {amount(type, value)}, the limit is {amount(type, limit)}."
    return {**halt, "said": said}


def find_limits(page: PageContext) -> dict[str, Any] | None:
    """Return, of each workspace that was checked, the value that is nearest to its stop."""
    rows: list[dict[str, Any]] = []

    def read(place: ServedWorkspace) -> None:
        state = _load(place.workspace)
        stops = state["limits"].get(STOP, {})
        known = [
            (value / stops[type], type, value)
            for type, value in state["values"].items()
            if value is not None and stops.get(type)
        ]
        for share, type, value in sorted(known)[-1:]:
            name = f"{place.key} · {name_of(type)}" if len(page.site) > 1 else name_of(type)
            rows.append(
                {
                    "name": name,
                    "href": f"/budget?{urlencode({'workspace': place.key})}",
                    "width": round(figures.WIDE * min(1.0, share)),
                    "said": f"{amount(type, value)} of {short_amount(type, stops[type])}",
                    "level": level_of(state["limits"], type, value) or "good",
                }
            )

    page.read_all(read)
    return {"rows": sorted(rows, key=lambda row: -row["width"])} if rows else None


def _load(workspace: Workspace) -> BudgetState:
    """Return the state of the budget, the initial one where nothing was written yet."""
    if not workspace.exists():
        return rules.initial(rules.STREAM)
    state: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    return state


def _known(type: str, state: BudgetState, recent: list[Record]) -> tuple[float | None, bool]:
    """The value of the last check, or the last known one; and whether it is an old one."""
    value: float | None = state["values"].get(type)
    if value is not None:
        return value, False
    if type in state["pending"]:
        return state["pending"][type]["value"], True
    last = max((line[-1] for line in _series(type, recent)), default=None)
    return (None, False) if last is None else (last[1], True)


def _series(type: str, records: list[Record]) -> list[list[tuple[int, float]]]:
    """The values of the checks, one line a session; the newest sessions."""
    found: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        body = record["body"] if record["kind"] == "checked" else None
        value = body["values"].get(type) if body else None
        if body and value is not None:
            line = found.setdefault(body["session"], [])
            line.append((clock.parse(record["at"]), float(value)))
    return list(found.values())[-MOST_LINES:]


def _steps(state: BudgetState) -> list[dict[str, Any]]:
    """What programs reported for each step, the most expensive first."""
    rows = [{"step": name, **step} for name, step in reported_by(state)["steps"].items()]
    rows.sort(key=lambda row: row["cost"] or 0.0, reverse=True)
    return rows[:MOST_STEPS]


def list_alerts(workspace: Workspace) -> list[dict[str, Any]]:
    """The alerts of the budget that wait for a person."""
    state = _load(workspace)
    return [
        {
            "type": type,
            "name": name_of(type),
            "value": amount(type, pending["value"]),
            "threshold": amount(type, pending["threshold"]),
            "stop": amount(type, number_at(state["limits"], STOP, type)),
            "value_at": pending["value"],
            "stop_at": number_at(state["limits"], STOP, type),
            "at": pending["since"],
        }
        for type, pending in state["pending"].items()
    ]


def _ask(place: ServedWorkspace, page: PageContext) -> list[dict[str, Any]]:
    alerts = list_alerts(place.workspace)
    return [{**alert, **_wrong_ceiling(place.key, alert, page.words)} for alert in alerts]


def _wrong_ceiling(key: str, alert: dict[str, Any], words: Mapping[str, str]) -> dict[str, str]:
    """What a person typed for this alert, and why it could not be taken; both empty without."""
    if words.get("ask") != f"{key}-{alert['type']}":
        return {"typed": "", "wrong": ""}
    typed = words.get("typed", "")[:LONGEST_TYPED]
    wrong = problem_of(alert["type"], typed, alert["value_at"], alert["stop_at"])
    return {"typed": typed, "wrong": wrong}


def problem_of(type: str, typed: str, value: float, stop: float) -> str:
    """Why a value cannot be the next one at which a person is asked; empty when it can."""
    try:
        until = thresholds.QUANTITIES[type].read(typed)
    except ValueError as problem:
        return f"The value {problem}."
    if until <= value:
        return f"It is at {amount(type, value)} already. Name more, or nothing."
    if until > stop:
        return f"The stop is at {amount(type, stop)}, which comes first. Name less, or nothing."
    return ""


def answer_alert(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    answer, type = words.get("answer", ""), words["type"]
    if answer not in ("ack", "stop"):
        raise Usage("An alert is answered with ack or stop.")
    budget = Budget(workspace, actor=person["name"])
    state = budget.state()
    pending = state["pending"].get(type)
    typed = words.get("until", "").strip() if answer == "ack" and pending else ""
    stop = number_at(state["limits"], STOP, type) if typed else 0.0
    if pending and typed and problem_of(type, typed, pending["value"], stop):
        # The board says what is wrong with it, in the place where it was typed.
        place = f"{words['workspace']}-{type}"
        return f"/board?{urlencode({'ask': place, 'typed': typed[:LONGEST_TYPED]})}#alert-{place}"
    until = thresholds.QUANTITIES[type].read(typed) if typed else None
    now = clock.parse(person["at"])
    acknowledge(budget, type, until=until, now=now, person=person, goes_on=answer == "ack")
    return "/board"


PAGES = Pages(
    pages=(
        Page(
            "budget",
            "/budget",
            gather,
            "Budget",
            "u",
            ("workspace", "before"),
            stream="budget",
            rank=40,
        ),
    ),
    changes=(
        PageChange("/w/{workspace}/alerts/{type}", "answer the alert of {type}", answer_alert),
    ),
    asks=(Ask("alerts", _ask, rank=20),),
    sections=(Section("limits", "Budgets", find_limits, rank=45),),
)
