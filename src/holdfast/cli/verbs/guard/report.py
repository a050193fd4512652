"""holdfast guard report"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from holdfast.budgets.check import Budget
from holdfast.budgets.operations import PARTS, AddRequest, ReportRequest, add, report
from holdfast.budgets.rules import thresholds
from holdfast.cli.agent_options import epic_option
from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.spending_screen import dollars, lines
from holdfast.cli.terminal import plural
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import Usage


@click.command()
@click.option("--session", default="", metavar="ID", help="Id of a client's session.")
@click.option("--agent", default="", metavar="NAME", help="Name of an agent. Counts all its lives.")
@epic_option
@click.option("--add-cost", metavar="$", help="Report dollars that a program spent.")
@click.option("--add-tokens", metavar="N", help="Report tokens that a program used.")
@click.option("--error", metavar="TEXT", help="Report an error.")
@click.option("--step", metavar="NAME", help="Step that the report belongs to.")
@click.option(
    "--status-line",
    is_flag=True,
    help="Read the JSON that Claude Code gives its status line from standard input.",
)
@verb
def command(
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
    added = AddRequest(
        cost=_amount("--add-cost", add_cost, thresholds.money),
        tokens=_amount("--add-tokens", add_tokens, thresholds.count),
        error=error,
        step=step,
    )
    if (add_cost, add_tokens, error) != (None, None, None):
        return _add(budget, added)
    if step is not None:
        raise Usage("--step belongs to something that is added.", hint="--add-cost 0.42")
    if status_line:
        _ = call.journal  # the tally stands beside it
    found = report(
        budget,
        ReportRequest(
            session=session,
            agent=agent,
            epic=epic or "",
            folder=call.folder,
            status_line=_stdin() if status_line else None,
        ),
    )
    data = {
        "agent": agent,
        "sessions": [
            {**each["spent"], **{name: each[name] for name in PARTS}}  # type: ignore[literal-required]
            for each in found["accounts"]
        ],
        "reported": found["reported"],
        "cost": found["cost"],
        "cost_at_least": found["cost_at_least"],
        "sure": found["sure"],
    }
    return Reply(data, lines(agent, found["accounts"], data))


def _amount(flag: str, text: str | None, read: Callable[[str], Any]) -> Any:
    try:
        return None if text is None else read(text)
    except ValueError as problem:
        raise Usage(f"{flag} {problem}.") from None


def _add(budget: Budget, request: AddRequest) -> Reply:
    result = add(budget, request)
    outcome, reported = result["outcome"], result["reported"]
    warn_of_views(outcome)
    data = {"added": result["added"], "reported": reported, "queued": outcome["queued"]}
    if outcome["queued"]:
        return Reply(data, ["Queued: the journal cannot be written from here."])
    said = f"Reported. Programs have reported {dollars(reported['cost'])} so far"
    said += f", {reported['tokens']:,} tokens" if reported["tokens"] else ""
    said += f", {plural(reported['errors'], 'error')}" if reported["errors"] else ""
    return Reply(data, [said + "."], next=["holdfast guard check"])


def _stdin() -> Any:
    """What is on standard input; a text that is no JSON says nothing."""
    try:
        return canonical_json.loads(sys.stdin.read()) or {}
    except ValueError:
        return {}
