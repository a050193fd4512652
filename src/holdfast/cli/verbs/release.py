"""holdfast release"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.maintenance.emergency import release


@click.command()
@click.option("--reason", default="", metavar="TEXT", help="Why the agents may go on.")
@verb
def command(call: Call, reason: str) -> Reply:
    """Lift the emergency stop, so that the agents go on.

    Only a person at a terminal can: holdfast shows a word there, and the person types it. An agent gets
    exit code 4, and holdfast records the attempt.
    """
    lifted = release(call.workspace, reason, by=call.actor, now=call.now)
    line = "Released: the agents may go on." if lifted else "There was no stop."
    return Reply({"released": lifted}, [line])
