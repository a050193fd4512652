"""holdfast agent takeover"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import confirmed, epic_option, yes_option
from holdfast.cli.agents import beginning_post, reply
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.recovery import takeover
from holdfast.session.sessions import at


@click.command()
@click.argument("old")
@click.option("--by", "new", required=True, help="Who goes on; the same id is allowed.")
@yes_option
@epic_option
@verb
def command(call: Call, old: str, new: str, yes: bool, epic: str | None) -> Reply:
    """Another agent goes on where OLD stopped: its file is archived, its life can write no more."""
    post = beginning_post(call, epic)
    told = confirmed(call, yes, lambda sure: takeover(post, old, new, yes=sure))
    next = [f"holdfast agent handoff {new} --from {old}"]
    session = at(post.epic.workspace, *told.left) if told.left else None
    if session is not None:
        next.append(f"holdfast resume --session {session['session']} --accept-foreign")
        told.lines.insert(-2, f"Session: {session['session'][:12]}, captured there; its pack:")
        told.lines.insert(-2, f"  {next[-1]}")
    return reply(told, next=next)
