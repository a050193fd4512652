"""holdfast resume"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, one_line, safe, style, table
from holdfast.session import sessions
from holdfast.session.resume import refuse_foreign, resume

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.session.rules.model import SessionState

COLOURS = {"CLEAN": "green", "STALE": "yellow", "DRIFTED": "yellow", "FOREIGN": "red"}


@click.command()
@click.option("--session", default="", help="Which session; by default the one of this worktree.")
@click.option("--list", "listing", is_flag=True, help="List the sessions that can be resumed.")
@click.option("--budget", type=click.IntRange(min=400), help="At most so many characters.")
@click.option("--issue", default="", help="The issue to work on; another one's state is FOREIGN.")
@click.option("--accept-foreign", is_flag=True, help="Continue another place's work here.")
@click.option("--prompt-only", is_flag=True, help="Print the continuation prompt and nothing else.")
@verb
def command(
    call: Call,
    session: str,
    listing: bool,
    budget: int | None,
    issue: str,
    accept_foreign: bool,
    prompt_only: bool,
) -> Reply:
    """First whether the world is still as it was left, then one text that restarts the work.

    CLEAN, DRIFTED (what changed), STALE (too old) or FOREIGN (another repository, worktree or issue:
    nothing is continued without --accept-foreign).
    """
    if listing:
        return _listing(call)
    found = resume(call.workspace, session=session, issue=issue, budget=budget or 0, now=call.now)
    if not accept_foreign:
        refuse_foreign(found)
    data = {**found}
    if prompt_only:
        return Reply(data, safe(found["prompt"]).split("\n"))
    verdict = style(found["verdict"], COLOURS[found["verdict"]], bold=True)
    lines = [verdict, *(f"  {safe(reason['what'])}" for reason in found["reasons"]), ""]
    return Reply(data, [*lines, *safe(found["pack"]).split("\n")], next=["holdfast checkpoint"])


def _listing(call: Call) -> Reply:
    known = sessions.latest(call.workspace)
    rows = [
        [
            style(state["session"][:12], "yellow"),
            ago(state["last"]["at"], call.now) if state["last"] else "",
            _standing(state),
            safe(state["progress"]["issue"]),
            one_line(state["progress"]["current"] or "no current task", 40),
            safe(state["last"]["world"]["worktree"]) if state["last"] else "",
        ]
        for state in known
    ]
    data = {"sessions": [{**state} for state in known]}
    return Reply(data, list(table(rows)) or ["No session was captured yet."])


def _standing(state: SessionState) -> str:
    if state["adopted_by"]:
        return "taken over"
    return "ended" if state["ended_at"] else "at work"
