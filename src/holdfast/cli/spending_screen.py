"""The screen of what was spent: the session, its steps and agents, and what programs reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.cli.terminal import one_line, plural, safe, style, table
from holdfast.clients.usage.amounts import NAMES
from holdfast.kernel import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.clients.usage.amounts import Stretch
    from holdfast.session.spending import Account, Spending

_SURE = {"exact": "green", "estimated": "yellow", "unknown": "red"}
# Times are shown to the minute, as `2026-11-15 18:01`.
_MINUTE = 16


def lines(agent: str, accounts: list[Account], data: dict[str, Any]) -> Iterator[str]:
    for number, each in enumerate(accounts):
        if number:
            yield ""
        yield from _session_lines(agent, each)
    reported = data["reported"]
    if reported and any(reported.values()):
        yield ""
        yield style("Reported by programs", bold=True)
        rows = [[one_line(name, 44), *_reported(step)] for name, step in reported["steps"].items()]
        rows.append([style("together", dim=True), *_reported(reported)])
        yield from table(rows, indent="  ")
    if len(accounts) > 1 or (reported and reported["cost"] is not None):
        yield ""
        yield f"{style('Sum', bold=True)}  {_amount(data)}  {_sureness(data['sure'])}"


def _session_lines(agent: str, told: Account) -> Iterator[str]:
    spent = told["spent"]
    if not spent["client"]:
        named = f" of session {safe(spent['session'])}" if spent["session"] else ""
        yield f"No client's files{named} were found: what was spent is unknown."
        return
    title = f"{safe(agent)}: " if agent else ""
    title += f"{NAMES[spent['client']]} {safe(spent['session'])}"
    began = f"since {_time(spent['started_at'])}" if spent["started_at"] else ""
    yield f"{style(title, bold=True)}  {style(began, dim=True)}".rstrip()
    yield from table(list(_facts(spent)), indent="  ")
    for error in spent["recent_errors"]:
        yield f"    {one_line(error, 90)}"
    if any(one["name"] for one in told["steps"]):
        yield ""
        yield style("By step", bold=True)
        yield from _parts(told["steps"], "before the first step", told["elsewhere"])
    if len(told["subagents"]) > 1:
        yield ""
        yield style("By agent", bold=True)
        yield from _parts(told["subagents"], "the session itself", told["elsewhere"])
    for source in spent["sources"]:
        if source["problem"]:
            yield style(f"  {safe(source['path'])} {safe(source['problem'])}", "yellow")


def _facts(spent: Spending) -> Iterator[list[str]]:
    yield [
        "cost",
        f"{_amount(spent)}  {_sureness(spent['sure'])}  {style(safe(spent['why']), dim=True)}",
    ]
    yield ["errors", str(spent["errors"]) if spent["errors"] else "none"]
    if spent["context_tokens"] is not None:
        held = _count(spent["context_tokens"])
        if spent["context_percent"] is not None:
            size = _count(spent["context_window"] or 0)
            held = f"{spent['context_percent']:g}%  " + style(f"{held} of {size} tokens", dim=True)
        else:
            held += " tokens  " + style("of an unknown window", dim=True)
        yield ["context", held]
    tokens = spent["tokens"]
    if not tokens["total"]:
        yield ["tokens", "none counted"]
        return
    parts = [
        f"{_count(tokens[name])} {name.replace('_', ' ')}" for name in tokens if name != "total"
    ]
    yield ["tokens", f"{_count(tokens['total'])}  {style(', '.join(parts), dim=True)}"]


def _reported(sums: Any) -> list[str]:
    errors = style(plural(sums["errors"], "error"), "red") if sums["errors"] else ""
    return [dollars(sums["cost"]), f"{_count(sums['tokens'])} tokens", errors]


def _parts(stretches: list[Stretch], unnamed: str, elsewhere: float) -> Iterator[str]:
    rows = [_row(one, unnamed) for one in stretches]
    if elsewhere:
        name = style("in no transcript", dim=True)
        rows.append([name, dollars(elsewhere), "", "", style("a compaction's, say", dim=True)])
    yield from table(rows, indent="  ")


def _row(one: Stretch, unnamed: str) -> list[str]:
    return [
        one_line(one["name"], 44) or style(unnamed, dim=True),
        _amount(one),
        f"{_count(one['tokens']['total'])} tokens",
        plural(one["messages"], "answer"),
        _sureness(one["sure"]),
    ]


def _amount(told: Any) -> str:
    """An amount; `unknown`, never 0, for what is not known."""
    if told["cost"] is not None:
        return dollars(told["cost"])
    if told["cost_at_least"]:
        return f"at least {dollars(told['cost_at_least'])}"
    return "unknown"


def dollars(cost: float | None) -> str:
    """Dollars with cents, and up to two digits more for a small amount."""
    if cost is None:
        return "nothing"
    if cost >= 1:
        return f"${cost:,.2f}"
    if 0 < cost < 0.0001:
        return "under $0.0001"
    text = f"{cost:.4f}"
    return f"${text[:4]}{text[4:].rstrip('0')}"


def _count(number: int) -> str:
    return f"{number:,}"


def _sureness(sure: str) -> str:
    return style(sure, _SURE[sure])


def _time(at: str) -> str:
    try:
        return clock.stamp(clock.parse(at))[:_MINUTE].replace("T", " ")
    except ValueError:
        return safe(at)
