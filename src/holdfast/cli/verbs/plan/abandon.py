"""holdfast plan abandon"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.plans import lookup
from holdfast.plans.abandon import abandon

DEFAULT_REASON = "given up"


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@click.option("--reason", default=DEFAULT_REASON, show_default=True, metavar="WHY", help="Why.")
@verb
def command(call: Call, id: str, reason: str) -> Reply:
    """Give a run up for good; without a RUN, the newest that is not finished.

    What it asked people is withdrawn, and its plans can be run anew. Its records, what it made and its
    worktrees are kept.
    """
    state = lookup.find_run(call.workspace, id)
    done = abandon(call.writer, state["id"], why=reason, actor=call.actor)
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
