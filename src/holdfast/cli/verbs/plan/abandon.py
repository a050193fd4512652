"""holdfast plan abandon"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.plans import lookup
from holdfast.plans.operations import AbandonRequest, RunContext, abandon

DEFAULT_REASON = "given up"


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@click.option(
    "--reason",
    default=DEFAULT_REASON,
    show_default=True,
    metavar="WHY",
    help="Why you abandon the run.",
)
@verb
def command(call: Call, id: str, reason: str) -> Reply:
    """Abandon RUN for good. Without RUN, abandons the newest unfinished run.

    Withdraws its open gates, so that its plans can run again. Keeps its records, results and worktrees.
    """
    context = RunContext(writer=call.writer, actor=call.actor)
    done = abandon(context, AbandonRequest(run=id, reason=reason))
    state = done["state"]
    data = {
        "run": state["id"],
        "reason": reason,
        "gates": done["gates"],
        "worktrees": done["worktrees"],
        **lookup.count(done["state"]),
    }
    lines = [f"Abandoned the run {state['id']}: {safe(reason)}"]
    lines += [f"Withdrew the gate {gate}" for gate in done["gates"]]
    lines += [f"Kept the worktree {safe(path)}" for path in done["worktrees"]]
    return Reply(data, lines, next=[f"holdfast plan show {state['id']}"])
