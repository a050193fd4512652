"""holdfast agent list"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import post_of, roster_of, stop_of
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.roster_screen import screen, terminal_width


@click.command("list")
@epic_option
@verb
def command(call: Call, epic: str | None) -> Reply:
    """Who is active, slow, waiting, blocked, dead or done, what each is doing, and what to do next."""
    post = post_of(call, epic)
    entries = roster_of(post)
    lines = screen(entries, post.epic.name, width=terminal_width(), stopped=stop_of(post))
    next = [entry["next"] for entry in entries if entry["next"]]
    return Reply({"epic": post.epic.root, "agents": entries}, lines, next=next)
