"""holdfast guard report: the session, its steps and agents, and what programs reported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from holdfast.budgets.check import Budget
from holdfast.budgets.operations import PARTS, AddRequest, ReportRequest, add, report
from holdfast.budgets.rules import thresholds
from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import amount_from, epic_option, flag, text_option, verb
from holdfast.cli.terminal import one_line, safe, style, table
from holdfast.clients.table import title_of
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.money import dollars
from holdfast.kernel.text import plural

if TYPE_CHECKING:
    from holdfast.clients.usage.amounts import Stretch
    from holdfast.usage.spending import Account, Spending


_SURE = {"exact": "green", "estimated": "yellow", "unknown": "red"}
# Times are shown to the minute, as `2026-11-15 18:01`.
_MINUTE = 16


@click.command()
@text_option("--session", "ID", "Id of a client's session.")
@text_option("--agent", "NAME", "Name of an agent. Counts all its lives.")
@epic_option
@click.option("--add-cost", metavar="$", help="Report dollars that a program spent.")
@click.option("--add-tokens", metavar="N", help="Report tokens that a program used.")
@click.option("--error", metavar="TEXT", help="Report an error.")
@click.option("--step", metavar="NAME", help="Step that the report belongs to.")
@flag(
    "--status-line",
    help="Read the JSON that Claude Code gives its status line from standard input.",
)
@verb
def report_command(
    call: Call,
    session: str,
    agent: str,
    epic: str | None,
    add_cost: str | None,
    add_tokens: str | None,
    error: str | None,
    step: str | None,
    status_line: bool,
) -> Reply:
    """Show what a session has cost, by step, where the numbers come from, and how certain they are.

    Without --session and --agent, the session is the one that runs this command, or the newest of this
    worktree. A program without a transcript reports what it spends with --add-cost, --add-tokens and
    --error.
    """
    budget = Budget(call.workspace, actor=call.actor, now=call.now)
    cost = amount_from("--add-cost", add_cost, thresholds.money)
    tokens = amount_from("--add-tokens", add_tokens, thresholds.count)
    added = AddRequest(cost=cost, tokens=tokens, error=error, step=step)
    if (add_cost, add_tokens, error) != (None, None, None):
        return _add(budget, added)
    if step is not None:
        raise Usage("--step belongs to something that is added.", hint="--add-cost 0.42")
    if status_line:
        _ = call.journal  # the tally stands beside it
    request = ReportRequest(
        session=session,
        agent=agent,
        epic=epic or "",
        folder=call.folder,
        status_line=_stdin() if status_line else None,
    )
    data: dict[str, Any] = {**report(budget, request)}
    accounts = data.pop("accounts")
    data["sessions"] = [
        {**each["spent"], **{name: each[name] for name in PARTS}} for each in accounts
    ]
    return Reply(data, report_lines(agent, accounts, data))


def _add(budget: Budget, request: AddRequest) -> Reply:
    result = add(budget, request)
    outcome, reported = result["outcome"], result["reported"]
    warn_of_views(outcome)
    data = {"added": result["added"], "reported": reported, "queued": outcome["queued"]}
    if outcome["queued"]:
        return Reply(data, ["Queued: the journal cannot be written from here."])
    said = f"Reported. Programs have reported {_money(reported['cost'])} so far"
    said += f", {reported['tokens']:,} tokens" if reported["tokens"] else ""
    said += f", {plural(reported['errors'], 'error')}" if reported["errors"] else ""
    return Reply(data, [said + "."], next=["holdfast guard check"])


def _stdin() -> Any:
    """What is on standard input; a text that is no JSON says nothing."""
    try:
        return canonical_json.loads(sys.stdin.read()) or {}
    except ValueError:
        return {}


def report_lines(agent: str, accounts: list[Account], data: dict[str, Any]) -> Iterator[str]:
    for number, each in enumerate(accounts):
        if number:
            yield ""
        yield from _session_lines(agent, each)
    reported = data["reported"]
    if reported and any(reported.values()):
        yield ""
        yield style("Reported by programs", bold=True)
        steps = reported["steps"].items()
        rows = [[one_line(name, 44), *_reported_cells(step)] for name, step in steps]
        rows.append([style("together", dim=True), *_reported_cells(reported)])
        yield from table(rows, indent="  ")
    if len(accounts) > 1 or (reported and reported["cost"] is not None):
        yield ""
        yield f"{style('Sum', bold=True)}  {_cost_cell(data)}  {_sure_word(data['sure'])}"


def _session_lines(agent: str, told: Account) -> Iterator[str]:
    spent = told["spent"]
    if not spent["client"]:
        named = f" of session {safe(spent['session'])}" if spent["session"] else ""
        yield f"No client's files{named} were found: what was spent is unknown."
        return
    title = f"{safe(agent)}: " if agent else ""
    title += f"{title_of(spent['client'])} {safe(spent['session'])}"
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
    why = style(safe(spent["why"]), dim=True)
    yield ["cost", f"{_cost_cell(spent)}  {_sure_word(spent['sure'])}  {why}"]
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
    kinds = [name for name in tokens if name != "total"]
    parts = [f"{_count(tokens[name])} {name.replace('_', ' ')}" for name in kinds]
    yield ["tokens", f"{_count(tokens['total'])}  {style(', '.join(parts), dim=True)}"]


def _reported_cells(sums: Any) -> list[str]:
    errors = style(plural(sums["errors"], "error"), "red") if sums["errors"] else ""
    return [_money(sums["cost"]), f"{_count(sums['tokens'])} tokens", errors]


def _parts(stretches: list[Stretch], unnamed: str, elsewhere: float) -> Iterator[str]:
    rows = [_row(one, unnamed) for one in stretches]
    if elsewhere:
        name = style("in no transcript", dim=True)
        rows.append([name, dollars(elsewhere), "", "", style("a compaction's, say", dim=True)])
    yield from table(rows, indent="  ")


def _row(one: Stretch, unnamed: str) -> list[str]:
    return [
        one_line(one["name"], 44) or style(unnamed, dim=True),
        _cost_cell(one),
        f"{_count(one['tokens']['total'])} tokens",
        plural(one["messages"], "answer"),
        _sure_word(one["sure"]),
    ]


def _cost_cell(told: Any) -> str:
    """An amount; `unknown`, never 0, for what is not known."""
    if told["cost"] is not None:
        return dollars(told["cost"])
    if told["cost_at_least"]:
        return f"at least {dollars(told['cost_at_least'])}"
    return "unknown"


def _money(cost: float | None) -> str:
    return "nothing" if cost is None else dollars(cost)


def _count(number: int) -> str:
    return f"{number:,}"


def _sure_word(sure: str) -> str:
    return style(sure, _SURE[sure])


def _time(at: str) -> str:
    try:
        return clock.stamp(clock.parse(at))[:_MINUTE].replace("T", " ")
    except ValueError:
        return safe(at)
