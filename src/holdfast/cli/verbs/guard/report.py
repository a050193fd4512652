"""holdfast guard report"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from holdfast.budgets.check import Budget
from holdfast.budgets.rules import units
from holdfast.cli.agent_options import epic_option
from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.spending_screen import dollars, lines
from holdfast.cli.terminal import plural
from holdfast.fleet.epic import find
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import NotFound, Usage
from holdfast.session import spending, steps

if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.spending import Account, Spending

PARTS = ("steps", "subagents", "elsewhere")


@click.command()
@click.option("--session", default="", metavar="ID", help="Whose: a client's session.")
@click.option("--agent", default="", metavar="NAME", help="Whose: an agent, with all its lives.")
@epic_option
@click.option("--add-cost", metavar="$", help="Report what a program spent.")
@click.option("--add-tokens", metavar="N", help="Report how many tokens it used.")
@click.option("--error", metavar="TEXT", help="Report something that went wrong.")
@click.option("--step", metavar="NAME", help="The step that the report belongs to.")
@click.option(
    "--status-line", is_flag=True, help="Take in what Claude Code gives its status line, on stdin."
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
    """What a session has cost by step, where the numbers come from, and how sure they are.

    Without a name it is the session that this runs in, or the newest of this worktree. A program
    without a transcript reports what it spends with the options that add.
    """
    added = _added(add_cost, add_tokens, error, step)
    budget = Budget(call.workspace, actor=call.actor)
    if added:
        return _add(call, budget, added)
    if agent and (session or status_line):
        raise Usage("Name a session or an agent, not both.")
    if status_line:
        _ = call.journal  # the tally stands beside it
        session = spending.note_status_line(call.workspace, _stdin(), now=call.now)
    accounts = _of_agent(call, agent, epic) if agent else [_of_session(call, session)]
    if session and not accounts[0]["spent"]["client"]:
        raise NotFound(
            f"No client's files of session {session} were found.",
            hint="Claude Code, Codex, Gemini CLI and opencode keep theirs in your home folder.",
        )
    state = budget.state()
    data = {
        "agent": agent,
        "sessions": [
            {**each["spent"], **{name: each[name] for name in PARTS}}  # type: ignore[literal-required]
            for each in accounts
        ],
        "reported": None if agent else _reported(state),
        **_sum(accounts, None if agent else _from(state["added"]["cost"])),
    }
    return Reply(data, lines(agent, accounts, data))


# Adding


def _added(
    cost: str | None, tokens: str | None, error: str | None, step: str | None
) -> dict[str, Any]:
    added: dict[str, Any] = {}
    for flag, name, text, read in (
        ("--add-cost", "cost", cost, units.money),
        ("--add-tokens", "tokens", tokens, units.count),
    ):
        if text is not None:
            try:
                added[name] = read(text)
            except ValueError as problem:
                raise Usage(f"{flag} {problem}.") from None
    if error is not None:
        if not error.strip():
            raise Usage("--error needs a text.")
        added["error"] = error
    if step is not None:
        if not added:
            raise Usage("--step belongs to something that is added.", hint="--add-cost 0.42")
        added["step"] = step
    return added


def _add(call: Call, budget: Budget, added: dict[str, Any]) -> Reply:
    outcome = budget.execute({"do": "add", **added}, now=call.now)
    warn_of_views(outcome)
    reported = _reported(budget.state())
    data = {"added": added, "reported": reported, "queued": outcome["queued"]}
    if outcome["queued"]:
        return Reply(data, ["Queued: the journal cannot be written from here."])
    said = f"Reported. Programs have reported {dollars(reported['cost'])} so far"
    said += f", {reported['tokens']:,} tokens" if reported["tokens"] else ""
    said += f", {plural(reported['errors'], 'error')}" if reported["errors"] else ""
    return Reply(data, [said + "."], next=["holdfast guard check"])


def _stdin() -> Any:
    try:
        return canonical_json.loads(sys.stdin.read())
    except ValueError:
        return None


# Reading


def _of_session(call: Call, session: str) -> Account:
    def marks(spent: Spending) -> list[tuple[str, str]]:
        return steps.of_session(call.workspace, spent["session"])

    return spending.account(call.workspace, session=session, marks=marks, now=call.now)


def _of_agent(call: Call, agent: str, epic: str | None) -> list[Account]:
    place = find(call.workspace, epic or "", base=call.folder)
    stream = place.agent_stream(agent)
    if not place.workspace.exists() or place.workspace.journal.head(stream) is None:
        raise NotFound(f"There is no agent {agent}.", hint="`holdfast agent list` lists them.")
    lives = steps.of_agent(place.workspace, stream)
    if not lives:
        raise NotFound(
            f"No transcript of {agent} is known.",
            hint=f"holdfast agent beat {agent} --transcript PATH",
            kind="no_transcript",
        )
    return [_of_life(call, place.workspace, path, marks) for path, marks in lives.items()]


def _of_life(
    call: Call, workspace: Workspace, transcript: str, marks: list[tuple[str, str]]
) -> Account:
    return spending.account(workspace, transcript=transcript, marks=lambda _: marks, now=call.now)


def _reported(state: BudgetState) -> dict[str, Any]:
    """What programs reported, in dollars."""
    added = state["added"]
    return {
        "cost": _from(added["cost"]),
        "tokens": added["tokens"],
        "errors": added["errors"],
        "steps": {
            name: {**step, "cost": _from(step["cost"])} for name, step in state["steps"].items()
        },
    }


def _from(cost: int | None) -> float | None:
    return None if cost is None else units.from_millionths(cost)


def _sum(accounts: list[Account], reported: float | None) -> dict[str, Any]:
    """Clients and programs together. One unknown part makes the sum unknown."""
    spent = [each["spent"] for each in accounts]
    # A session that we know to be in, and whose files are not found, is an unknown part as well.
    parts = [part for part in spent if part["client"] or part["session"]]
    at_least = round(sum(part["cost_at_least"] for part in parts) + (reported or 0.0), 9)
    known = bool(parts or reported is not None) and all(part["cost"] is not None for part in parts)
    sure = "unknown"
    if known:
        sure = "exact" if all(part["sure"] == "exact" for part in parts) else "estimated"
    return {"cost": at_least if known else None, "cost_at_least": at_least, "sure": sure}
