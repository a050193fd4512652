"""holdfast release"""

from __future__ import annotations

import click

from holdfast.budgets.check import latched_again
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.estop.stop import refuse_stopped, release


@click.command()
@click.option("--reason", default="", help="Why the agents may go on.")
@verb
def command(call: Call, reason: str) -> Reply:
    """Lift the emergency stop; the agents may go on."""
    lifted = release(call.workspace, reason, by=call.actor, now=call.now)
    if latched_again(call.workspace, actor=call.actor, now=call.now):
        refuse_stopped(call.workspace, "The emergency stop is lifted, a budget's stop is not.")
    line = "Released: the agents may go on." if lifted else "There was no stop."
    return Reply({"released": lifted}, [line])
